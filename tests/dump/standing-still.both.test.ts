/** What stands still while a dump is read or written: a signal ends the call all the same. */
import { describe, expect, it } from 'vitest';
import { make, utf8 } from './content';

const HEADER = utf8('{"settledb":"dump","version":1,"uuid":"u","seq":1,"doc_count":1}\n');
const never = (): Promise<never> => new Promise(() => {});
const url = 'https://files.example/manifest.json';
const manifest = JSON.stringify({
  settledb: 'snapshot',
  version: 1,
  source: 'u',
  seq: 1,
  docs: 0,
  chunks: [{ name: `${'0'.repeat(32)}.ndjson.gz`, length: 1 }],
});

/** The call is well under way, and waits, when it is aborted. */
async function expectEnded(call: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
  const abort = new AbortController();
  const reason = new Error('enough');
  setTimeout(() => abort.abort(reason), 30);
  await expect(call(abort.signal)).rejects.toBe(reason);
}

const begun = (...pieces: Uint8Array[]) =>
  async function* () {
    yield* pieces;
    await never();
  };

describe('an aborted load ends', () => {
  it.each([
    ['before the first byte', begun()],
    ['within a dump', begun(HEADER)],
    ['within gzip', begun(Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0))],
    ['within the file of another program', begun(utf8('{"docs":[{"_id":"a"},'.padEnd(70_000)))],
  ])('when its input stands still %s', async (_, input) => {
    await expectEnded((signal) => make().load(input(), { signal }));
    const stream = () => {
      const pieces = input();
      return new ReadableStream<Uint8Array>({
        async pull(controller) {
          controller.enqueue((await pieces.next()).value!);
        },
        cancel: never,
      });
    };
    await expectEnded((signal) => make().load(stream(), { signal }));
  });

  it('when the fetch of a snapshot does not heed the signal', async () => {
    const still = () => new Response(new ReadableStream());
    for (const fetch of [
      never,
      async () => still(),
      async (file: URL) => (file.href === url ? new Response(manifest) : never()),
      async (file: URL) => (file.href === url ? new Response(manifest) : still()),
    ])
      await expectEnded((signal) => make().loadSnapshot(url, { signal, fetch: fetch as never }));
  });
});

it('an aborted writeSnapshot ends when a file is not taken', async () => {
  await expectEnded((signal) => make().writeSnapshot(never, { signal }));
  const all = (name: string) => (name === 'manifest.json' ? never() : undefined);
  await expectEnded((signal) => make().writeSnapshot(all, { signal }));
});
