/** Answers that the client has no use for, or no longer: they are left, so that their connection is free, and told apart by what is wrong. */
import { remote } from '@settledb/remote';
import { expect, it, vi } from 'vitest';
import { failureOf, meddled, ORIGIN, URL_OF_DB } from './support';

const DOC = { _id: 'a', _rev: '1-a', _revisions: { start: 1, ids: ['a'] } };
const stub = { content_type: 'text/plain', revpos: 1, digest: 'md5-x', length: 10, stub: true };
const gzip = { encoding: 'gzip', encoded_length: 20 };

/** An answer that begins and does not end, and whether it was left. */
function unending(init: ResponseInit = {}, first = '') {
  const is = { left: false, read: false };
  let begun = first === '';
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (begun) {
          is.read = true;
          return;
        }
        begun = true;
        controller.enqueue(new TextEncoder().encode(first));
      },
      cancel() {
        is.left = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { is, response: new Response(body, init) };
}

const typed = (type: string, init: ResponseInit = {}) => ({ ...init, headers: { 'content-type': type } });

/** Reads the attachment `f` of `a` as it is stored. */
async function readStored(db: ReturnType<typeof remote>): Promise<void> {
  const { stream } = await db.openAttachment('a', 'f', { encoded: true });
  for await (const _ of stream as unknown as AsyncIterable<Uint8Array>);
}

it.each([
  'application/json',
  'multipart/related',
  'multipart/mixed; boundary=',
])('an answer of type %s where parts should be is a wrong answer, and left', async (type) => {
  const [whole, many] = [unending(typed(type)), unending(typed(type))];
  const { fetch } = meddled({
    'GET /db/a': ({ url }) =>
      url.includes('attachments=true')
        ? whole.response
        : Response.json({ ...DOC, _attachments: { f: { ...stub, ...gzip } } }),
    'POST /db/_bulk_get': () => many.response,
  });
  const db = remote(URL_OF_DB, { fetch });
  expect(await failureOf(readStored(db))).toMatchObject({ status: 502, name: 'bad_response' });
  await vi.waitFor(() => expect(whole.is.left).toBe(true));
  if (type === 'application/json') return;
  const asked = db.bulkGet({ docs: [{ id: 'a', rev: '1-a' }], attachments: true });
  expect(await failureOf(asked)).toMatchObject({ status: 502, name: 'bad_response' });
  await vi.waitFor(() => expect(many.is.left).toBe(true));
});

it('a refusal is left when the login that follows it fails', async () => {
  const refused = unending({ status: 401 });
  let logins = 0;
  const { fetch } = meddled({
    'POST /_session': () => {
      if (logins++ > 0) throw new TypeError('fetch failed');
      return Response.json({ ok: true }, { headers: { 'set-cookie': 'AuthSession=x; Max-Age=600' } });
    },
    'GET /db/a': () => refused.response,
  });
  const auth = { type: 'cookie', username: 'me', password: 'x' } as const;
  const db = remote(URL_OF_DB, { fetch, auth });
  expect(await failureOf(db.get('a'))).toMatchObject({ name: 'unreachable' });
  expect(logins).toBe(2);
  await vi.waitFor(() => expect(refused.is.left).toBe(true));
});

it('a refusal of compression is left', async () => {
  const refused = unending({ status: 415 });
  const { fetch, server } = meddled({});
  const own: typeof fetch = async (input, init) =>
    new Headers(init?.headers).has('content-encoding') ? refused.response : fetch(input, init);
  await server.ask('PUT', '/db');
  const db = remote(URL_OF_DB, { fetch: own, compress: true });
  expect(await db.put({ _id: 'a', text: 'x'.repeat(50_000) } as never)).toMatchObject({ ok: true });
  await vi.waitFor(() => expect(refused.is.left).toBe(true));
});

it('a redirect to another server is left with its answer', async () => {
  const { is, response } = unending(typed('application/json'));
  Object.defineProperty(response, 'redirected', { value: true });
  Object.defineProperty(response, 'url', { value: 'https://elsewhere.example/db/a' });
  const { fetch } = meddled({ 'GET /db/a': () => response });
  const db = remote(URL_OF_DB, { fetch, auth: { username: 'me', password: 'x' }, skip_setup: true });
  expect(await failureOf(db.get('a'))).toMatchObject({ name: 'redirected' });
  await vi.waitFor(() => expect(is.left).toBe(true));
});

it('an answer that comes after the call was ended is left, where a fetch does not heed its signal', async () => {
  const { is, response } = unending(typed('application/json'));
  let answer = (_: Response): void => {};
  const late = new Promise<Response>((resolve) => {
    answer = resolve;
  });
  const { fetch } = meddled({ 'GET /db/a': () => late });
  const deaf: typeof fetch = (input, init) => fetch(input, { ...init, signal: null });
  const db = remote(URL_OF_DB, { fetch: deaf });
  await db.info();
  const over = new AbortController();
  const asked = failureOf(db.get('a', { signal: over.signal }));
  await new Promise((resolve) => setTimeout(resolve, 5));
  over.abort(new Error('enough'));
  expect((await asked).message).toBe('enough');
  answer(response);
  await vi.waitFor(() => expect(is.left).toBe(true));
});

it.each([
  ['as it is', {}],
  ['as it is stored, encoded', gzip],
])('an attachment that stands still is left at once when its reader leaves it (%s)', async (_, about) => {
  const text = JSON.stringify({ ...DOC, _attachments: { f: { ...stub, ...about, follows: true } } });
  const whole = unending(typed('multipart/related; boundary=i'), `--i\r\n\r\n${text}\r\n--i\r\n\r\nhello`);
  const plain = unending({}, 'hello');
  const { fetch } = meddled({
    'GET /db/a': ({ url }) =>
      url.includes('attachments=true')
        ? whole.response
        : Response.json({ ...DOC, _attachments: { f: { ...stub, ...about } } }),
    'GET /db/a/f': () => plain.response,
  });
  const { is } = 'encoding' in about ? whole : plain;
  const db = remote(URL_OF_DB, { fetch });
  const { stream } = await db.openAttachment('a', 'f', { encoded: true });
  const reader = stream.getReader();
  const reading = (async () => {
    while (!(await reader.read()).done);
  })();
  await vi.waitFor(() => expect(is.read).toBe(true));
  await reader.cancel();
  await reading;
  await vi.waitFor(() => expect(is.left).toBe(true));
});

it('a bulkGet that asks one by one asks no more when one request has failed', async () => {
  let asked = 0;
  const { fetch } = meddled({ 'POST /db/_bulk_get': () => new Response('', { status: 405 }) });
  const own: typeof fetch = async (input, init) => {
    if (!String(input).startsWith(`${ORIGIN}/db/d`)) return fetch(input, init);
    if (++asked === 3) throw new TypeError('fetch failed');
    return Response.json([{ missing: '1-a' }]);
  };
  const db = remote(URL_OF_DB, { fetch: own });
  const docs = Array.from({ length: 200 }, (_, i) => ({ id: `d${i}`, rev: '1-a' }));
  expect(await failureOf(db.bulkGet({ docs }))).toMatchObject({ name: 'unreachable' });
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(asked).toBeLessThan(20);
});
