/**
 * A network between our client and our server that does what networks do, by chance: requests cut before, on their way or
 * after they were served, held back so that others overtake them, doubled; answers cut off, with and without notice, or given
 * by somebody else.
 */
import type { Random } from './random';

export interface NetworkFaults {
  /** Per request; 0: all is well. */
  rate: number;
  /** Nobody can be reached. */
  down: boolean;
  /** When the network goes down next: answers that are coming in are then cut. Default: those come in whole. */
  readonly cutsStreams?: () => Promise<{ done: true; value?: undefined }>;
  /** Faults yet to come: bounded, or a retried run might never end. */
  left: number;
}

const PAGES: readonly (() => Response)[] = [
  () => new Response('<!doctype html><title>Sign in</title>', { headers: { 'content-type': 'text/html' } }),
  () => new Response('{}', { headers: { 'content-type': 'application/json' } }),
  () => new Response('[]', { headers: { 'content-type': 'application/json' } }),
  () => new Response('null', { headers: { 'content-type': 'application/json' } }),
  () => new Response('', { headers: { 'content-type': 'application/json' } }),
  () => Response.json({ ok: true }),
  () => Response.json({ error: 'bad_gateway', reason: 'try again' }, { status: 502 }),
  () => Response.json({ error: 'internal_server_error', reason: 'oops' }, { status: 500 }),
  () => new Response('<html>unavailable</html>', { status: 503 }),
  () => Response.json({ error: 'too_many_requests', reason: 'slow down' }, { status: 429 }),
];
/** What is right of `{}` and `[]`: to these requests they are what the protocol says when there is nothing to say. */
const SAYS_NOTHING = /_revs_diff|_bulk_docs/;

type Fetch = typeof globalThis.fetch;

/** @param held how long a request is held back: until others had their turn, or some time passed */
export function lossy(
  server: Fetch,
  random: Random,
  faults: NetworkFaults,
  held: (random: Random) => Promise<void>,
): Fetch {
  return async (input, init) => {
    // Told by a URL and an init, as our client does it: a request can be made of those as often as is needed.
    const serve = (): Promise<Response> => server(input, init);
    const { signal } = init ?? {};
    if (faults.down) throw unreachable();
    if (faults.left <= 0 || !random.chance(faults.rate)) return interrupted(await serve(), faults, signal);
    faults.left--;
    switch (random.below(8)) {
      case 0:
        throw unreachable();
      case 1:
        drop(await serve());
        throw unreachable();
      case 2: {
        // The server gets the half of it.
        const { body } = init ?? {};
        const half = typeof body === 'string' ? { body: body.slice(0, random.below(body.length)) } : {};
        drop(await server(input, { ...init, ...half }));
        throw unreachable();
      }
      case 3:
        await held(random);
        signal?.throwIfAborted();
        return serve();
      case 4: {
        const [first, second] = await Promise.all([serve(), serve()]);
        const [answer, other] = random.chance(0.5) ? [first, second] : [second, first];
        drop(other);
        return answer;
      }
      case 5:
        return cutOff(await serve(), random, random.chance(0.5));
      case 6: {
        const answer = await serve();
        await held(random);
        return answer;
      }
      default: {
        if (random.chance(0.5)) drop(await serve());
        const pages = PAGES.filter((_, at) => !(SAYS_NOTHING.test(String(input)) && (at === 1 || at === 2)));
        return random.pick(pages)();
      }
    }
  };
}

const unreachable = (): TypeError => new TypeError('fetch failed');

/** Nobody reads this answer: who gives it has to hear of that. */
const drop = (response: Response): void => void response.body?.cancel().catch(() => undefined);

/** The answer up to some byte; then its end, or an error. */
async function cutOff(response: Response, random: Random, noticed: boolean): Promise<Response> {
  const reader = response.body!.getReader(); // No answer of the protocol is without.
  const parts: Uint8Array[] = [];
  let left = random.below(MOST_BEFORE_CUT);
  while (left > 0) {
    const { done, value } = await reader.read();
    // A whole answer, of which the last byte must go.
    const part = done ? parts.pop()?.slice(0, -1 - random.below(3)) : value.slice(0, left);
    if (part !== undefined) parts.push(part);
    left -= done ? left : part!.length;
  }
  reader.cancel().catch(() => undefined);
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      if (noticed) controller.error(unreachable());
      else controller.close();
    },
  });
  return new Response(body, { status: response.status, headers: response.headers });
}

/** Bytes. */
const MOST_BEFORE_CUT = 600;

/** An answer that is still coming in when the network goes down is cut. */
function interrupted(
  response: Response,
  faults: NetworkFaults,
  signal: AbortSignal | null | undefined,
): Response {
  if (response.body === null || !faults.cutsStreams) return response;
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await Promise.race([reader.read(), faults.cutsStreams!()]);
        if (faults.down) {
          reader.cancel().catch(() => undefined);
          controller.error(unreachable());
        } else if (done) controller.close();
        else controller.enqueue(value!);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  signal?.addEventListener('abort', () => reader.cancel().catch(() => undefined), { once: true });
  return new Response(body, { status: response.status, headers: response.headers });
}
