/** A document that is to be mapped, and what is said of one on which a map threw. */
import { DatabaseError, type DocRow } from '@settledb/core';
import type { IndexDefinition } from './index-reader';
import { docOf } from './map';

/** Made once for all maps that leave it as it is, anew for each of the others. */
export class Source {
  readonly row: DocRow;
  #shared: ReturnType<typeof docOf> | undefined;

  constructor(row: DocRow) {
    this.row = row;
  }

  docFor({ pure }: IndexDefinition): ReturnType<typeof docOf> {
    if (!pure) return docOf(this.row);
    this.#shared ??= docOf(this.row);
    return this.#shared;
  }
}

export function mapError(
  index: { readonly name?: string | undefined },
  docId: string,
  cause: unknown,
): DatabaseError {
  const why = cause instanceof Error ? cause.message : String(cause);
  const name = index.name === undefined ? 'The map function' : `The map function of ${index.name}`;
  return new DatabaseError({
    status: 500,
    name: 'map_function_error',
    reason: `${name} threw on document '${docId}', which is left out: ${why}`,
    docId,
    cause,
  });
}
