/** A document that is to be mapped, and the error for one on which a map threw. */
import { DatabaseError, type DocRow, toKey, whyOf } from '@settledb/core';
import type { Mapped } from './chunk';
import type { IndexDefinition } from './index-reader';
import { docOf, type Emitted, type Mapper, type SourceDoc } from './map';

/** The document is made once for all maps that leave it unchanged, and anew for each of the others. */
export class Source {
  readonly row: DocRow;
  #shared: SourceDoc | undefined;

  constructor(row: DocRow) {
    this.row = row;
  }

  /** What the map emits, or throws. */
  emitted(index: IndexDefinition, mapper: Mapper): readonly Emitted[] {
    const { deleted, body = '{}' } = this.row;
    if (deleted) return NONE;
    const keys = index.keysIn?.(body as string);
    if (keys === undefined) return mapper.run(this.#docFor(index, mapper));
    return keys.map((key) => ({ key: toKey(key), value: undefined }));
  }

  #docFor({ pure }: IndexDefinition, mapper: Mapper): SourceDoc {
    if (!pure) return mapper.docOf(this.row);
    this.#shared ??= docOf(this.row);
    return this.#shared;
  }
}

const NONE: readonly Emitted[] = [];

/**
 * Maps a document for an index, into what is to be committed of it.
 *
 * @param fail is told what the map threw
 * @returns how many rows it emitted
 */
export function mapOne(
  index: IndexDefinition,
  mapper: Mapper,
  source: Source,
  into: Mapped,
  fail: (error: DatabaseError) => void,
): number {
  const { id, seq } = source.row;
  let emitted = NONE;
  try {
    emitted = source.emitted(index, mapper);
  } catch (cause) {
    into.threw++;
    fail(mapError(index, id, cause));
  }
  into.docs.push({ id, seq, emitted });
  return emitted.length;
}

export function mapError(
  index: { readonly name?: string | undefined },
  docId: string,
  cause: unknown,
): DatabaseError {
  const name = index.name === undefined ? 'The map function' : `The map function of ${index.name}`;
  return new DatabaseError({
    status: 500,
    name: 'map_function_error',
    reason: `${name} threw on document '${docId}', which is left out: ${whyOf(cause)}`,
    docId,
    cause,
  });
}
