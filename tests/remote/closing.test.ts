/** What becomes of the calls of a remote database that is closed or destroyed under them. */
import { remote } from '@settledb/remote';
import { describe, expect, it } from 'vitest';
import { failureOf, ORIGIN, testServer } from './support';

function setUp() {
  const server = testServer();
  return { server, db: remote<Record<string, unknown>>(`${ORIGIN}/db`, { fetch: server.fetch }) };
}

/** A stream that gives some bytes and then stands still, and when it does. */
function stalled() {
  let stands = (): void => {};
  const reached = new Promise<void>((resolve) => {
    stands = resolve;
  });
  const stream = new ReadableStream<Uint8Array>(
    {
      start: (controller) => controller.enqueue(new Uint8Array(10)),
      pull() {
        stands();
        return new Promise(() => {});
      },
    },
    { highWaterMark: 0 },
  );
  return { stream, reached };
}

describe('a stream that stands still', () => {
  const writes = {
    'put as an attachment': (db, stream) => db.putAttachment('a', 'f', undefined, stream, 'x/y'),
    'given by a function': (db, stream) => db.putAttachment('a', 'f', undefined, () => stream, 'x/y'),
    'within a document': (db, data) =>
      db.put({ _id: 'a', _attachments: { f: { content_type: 'x/y', data } } } as never),
    'within one of many': (db, data) =>
      db.bulkDocs([{ _id: 'a', _attachments: { f: { content_type: 'x/y', data } } }] as never),
  } satisfies Record<
    string,
    (db: ReturnType<typeof setUp>['db'], stream: ReadableStream<Uint8Array>) => Promise<unknown>
  >;
  for (const [how, write] of Object.entries(writes))
    for (const end of ['close', 'destroy'] as const)
      it(`${how} is left, and its write refused as closed, by ${end}`, async () => {
        const { db, server } = setUp();
        const { stream, reached } = stalled();
        const failure = failureOf(write(db, stream));
        await reached;
        await db[end]();
        expect(await failure).toMatchObject({ status: 412, name: 'closed' });
        expect(server.log.filter((line) => /^(PUT|POST) \/db\//.test(line))).toEqual([]);
      });
});
