/**
 * Content in IndexedDB: a record per chunk. No chunk is ever overwritten with other bytes, so each transaction may be repeated on a
 * new connection.
 */
import { type Durability, inMicrotask } from '@settledb/core';
import type { BlobJournal, Position } from '@settledb/engine';
import { bytesOf, chunkRecord, durabilityOf } from './chunk';
import type { Connection } from './connection';
import { commitsAfter } from './pieces';
import type { Run } from './run';
import { checkState } from './schema';
import type { Work } from './transaction';

/** Keys of all chunks of a place. */
const all = (place: string): IDBKeyRange => IDBKeyRange.bound([place], [place, []]);

interface Asked {
  readonly place: string;
  readonly index: number;
  readonly resolve: (chunk: Uint8Array | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** @param stored called with the length of each chunk that was put */
export function indexedDbBlobs(
  connection: Connection,
  run: Run,
  stored: (bytes: number) => void,
): BlobJournal {
  const putChunk = (place: string, index: number, chunk: Uint8Array, durability: Durability): Promise<void> =>
    connection.replay<void>(
      { stores: ['blob'], mode: 'readwrite', durability: durabilityOf([chunk], durability) },
      ({ blob, after, answer }) => {
        after(blob.put(chunkRecord(chunk), [place, index]), () => answer(undefined));
      },
    );
  const dropAll = (places: readonly string[]): Promise<void> =>
    connection.replay<void>({ stores: ['blob'], mode: 'readwrite' }, (work) => {
      work.answer(undefined);
      for (const place of places) work.blob.delete(all(place));
    });
  /** What is asked for in one turn goes into one transaction: a hundred small requests cost hardly more than one. */
  let asked: Asked[] = [];
  const readAsked = (): void => {
    const batch = asked;
    asked = [];
    run('Reading attachments', () =>
      connection.replay<unknown[]>({ stores: ['blob'], mode: 'readonly' }, ({ blob, after, answer }) => {
        const requests = batch.map(({ place, index }) => blob.get([place, index]));
        after(requests.at(-1)!, () => answer(requests.map(({ result }) => result)));
      }),
    ).then(
      (values) => {
        for (const [i, { place, index, resolve, reject }] of batch.entries()) {
          try {
            resolve(bytesOf(values[i], place, index));
          } catch (error) {
            reject(error);
          }
        }
      },
      (error) => {
        for (const { reject } of batch) reject(error);
      },
    );
  };
  return {
    async put(place, chunks, durability) {
      let index = 0;
      try {
        for await (const chunk of chunks) {
          const at = index++;
          await run('Storing an attachment', () => putChunk(place, at, chunk, durability));
          stored(chunk.length); // per chunk: after the last chunk of large content there may be no room left for the reserve
        }
      } catch (error) {
        // A full disk needs the room back. What cannot be dropped now is swept later.
        if (index > 0) await run('Dropping an attachment', () => dropAll([place])).catch(() => {});
        throw error;
      }
    },
    get: (place, index) =>
      new Promise((resolve, reject) => {
        if (asked.push({ place, index, resolve, reject }) === 1) inMicrotask(readAsked);
      }),
    drop: (places) => run('Dropping attachments', () => dropAll(places)),
    places: () =>
      run('Listing attachments', () =>
        connection.replay<string[]>({ stores: ['blob'], mode: 'readonly' }, ({ blob, after, answer }) => {
          const keys = blob.getAllKeys();
          after(keys, () => answer([...new Set(keys.result.map((key) => (key as [string, number])[0]))]));
        }),
      ),
    dropUnnamed: (places, expected) =>
      run('Dropping attachments', () =>
        connection.replay<boolean>({ stores: ['meta', 'log', 'blob'], mode: 'readwrite' }, (work) =>
          dropIfAt(work, places, expected),
        ),
      ),
  };
}

/** Repeated, it finds nothing to drop; or, if a commit came meanwhile, it answers that it was not done, which is true enough. */
function dropIfAt(
  { meta, log, blob, after, answer }: Work<boolean>,
  places: readonly string[],
  { epoch, n }: Position,
): void {
  const asked = meta.get('state');
  const ahead = log.getKey(commitsAfter(n));
  after(ahead, () => {
    const isAt = checkState(asked.result).epoch === epoch && ahead.result === undefined;
    if (isAt) for (const place of places) blob.delete(all(place));
    answer(isAt);
  });
}
