/** Edits grouped by document. */
import { localKey } from '../model/ids';
import type { Edit } from './edits';

const NONE: readonly never[] = [];

/** Edits, each with the place of its document, or `_local/` document, in their lists. */
export interface Batch {
  readonly edits: readonly Edit[];
  readonly ids: readonly string[];
  readonly locals: readonly string[];
  /** For each edit the place of its document in `ids`, or `~place` in `locals`. */
  readonly places: readonly number[];
}

export function batchOf(edits: readonly Edit[]): Batch {
  if (edits.length === 1) {
    const { kind, id } = edits[0]!;
    if (kind === 'local') return { edits, ids: NONE, locals: [localKey(id)], places: [~0] };
    return { edits, ids: [id], locals: NONE, places: [0] };
  }
  const ids: string[] = [];
  const locals: string[] = [];
  const known = new Map<string, number>();
  const places = new Array<number>(edits.length);
  for (let i = 0; i < edits.length; i++) {
    const { id, kind } = edits[i]!;
    let place = known.get(id);
    if (place === undefined) {
      // One map for both: an id that begins with `_local/` is never a document's.
      place = kind === 'local' ? ~(locals.push(localKey(id)) - 1) : ids.push(id) - 1;
      known.set(id, place);
    }
    places[i] = place;
  }
  return { edits, ids, locals, places };
}
