/** Data of attachments, put into documents that were read with stubs. */
import { type DatabaseError, isDatabaseError } from '../model/errors';
import type { BinaryData, ExistingDoc, FullAttachment, Stub } from '../model/types';
import type { BlobRow } from '../store/schema';
import { type AttachmentSource, load, loadData, rowsOf } from './attachment-bytes';
import { isEncoded } from './attachment-content';
import { portableBytes } from './bytes';
import type { AttachmentsOptions } from './database';
import { SMALL_DATA, type SmallData } from './small-data';

/**
 * Most attachments loaded at a time, and most bytes, though one attachment may always load. Loading many hides the storage's latency
 * (what is asked for at once is one transaction); the limits bound what is in memory beside the answer.
 */
const LOADS_AT_ONCE = 100;
const LOADED_BYTES = 4 * 1024 * 1024;

/** Bytes of attachments that are small together: a server reads 32 such documents at a time. Streams of larger ones cost little more. */
const SMALL_BYTES = 256 * 1024;

type AnyDoc = ExistingDoc<object>;

/** Documents whose attachments are to be filled in. */
export interface FillOptions extends AttachmentsOptions, SmallData {
  /** Only attachments that changed after this generation get their data. Default: all. */
  readonly after?: ReadonlyMap<AnyDoc, number>;
  /** Told of a document with a damaged attachment. Default: the call fails. */
  readonly damaged?: (doc: AnyDoc, error: DatabaseError) => void;
}

/** Replaces the stubs within `docs` by attachments with data, or as the options say. To be called within {@link unswept}. */
export async function fill(
  source: AttachmentSource,
  docs: readonly AnyDoc[],
  options: FillOptions,
): Promise<void> {
  const wanted = docs.flatMap((doc) => {
    const stubs = doc._attachments as Record<string, Stub> | undefined;
    if (stubs === undefined) return [];
    const isGiven = options.attachments || (options[SMALL_DATA] && areSmall(stubs));
    return Object.keys(stubs).map((name) => ({ doc, stubs, name, stub: stubs[name]!, isGiven }));
  });
  if (wanted.length === 0) return;
  const rows = await rowsOf(
    source,
    wanted.map(({ stub }) => stub),
  );
  await each(rows, async (row, i) => {
    const { doc, stubs, name, stub, isGiven } = wanted[i]!;
    const { content_type, revpos, digest } = stub;
    const info = options.att_encoding_info && isEncoded(row.blob);
    const encoding = info ? ({ encoding: 'gzip', encoded_length: row.size } as const) : {};
    if (!isGiven || revpos <= (options.after?.get(doc) ?? -1)) {
      stubs[name] = { ...stub, ...encoding };
      return;
    }
    let data: BinaryData | string;
    try {
      data = options.binary
        ? await loadData(source, row, content_type)
        : (source.bytes ?? portableBytes).toBase64(await load(source, row));
    } catch (error) {
      if (options.damaged === undefined || !isDatabaseError(error) || error.name !== 'corrupt') throw error;
      return options.damaged(doc, error);
    }
    const full: FullAttachment = { content_type, revpos, digest, data, ...encoding };
    (stubs as Record<string, Stub | FullAttachment>)[name] = full;
  });
}

const areSmall = (stubs: Readonly<Record<string, Stub>>): boolean =>
  Object.values(stubs).reduce((sum, { length }) => sum + length, 0) <= SMALL_BYTES;

async function each(
  rows: readonly BlobRow[],
  work: (row: BlobRow, i: number) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  let bytes = 0;
  for (const [i, row] of rows.entries()) {
    while (running.size === LOADS_AT_ONCE || (running.size > 0 && bytes + row.size > LOADED_BYTES))
      await Promise.race(running);
    bytes += row.size;
    const one = work(row, i).finally(() => {
      bytes -= row.size;
      running.delete(one);
    });
    one.catch(() => {}); // whichever of the two waits reports it
    running.add(one);
  }
  await Promise.all(running);
}
