/** `db.dump()` before its code is there: the code is loaded when the stream is first read. */
import { type Database, either } from '@settledb/core';
import type { DumpOptions } from '@settledb/dump';
import { dumpCode } from './code';
import type { Connection } from './connection';

/** @param life aborted when the handle ends */
export function lazyDump(
  db: object,
  connection: Connection | undefined,
  given: DumpOptions | null | undefined,
  life: AbortSignal,
): ReadableStream<Uint8Array> {
  // This is how pouchdb-replication-stream is called: a backup that nobody writes must not seem to be made.
  if ('write' in Object(given) || 'getWriter' in Object(given))
    throw new TypeError('dump() gives a stream: pipe it into yours');
  const { signal, leave } = either(life, given?.signal);
  const options = { ...given, signal };
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  let isLeft = false;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { dump } = await dumpCode.load();
          if (isLeft) return;
          reader ??= dump(db as Database, options, connection).getReader();
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          leave();
          controller.close();
        } catch (error) {
          leave();
          throw error;
        }
      },
      cancel(reason) {
        isLeft = true;
        leave();
        return reader?.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
