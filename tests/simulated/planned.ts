/** What a write does to the rows that it finds, whatever number it gets: it is planned anew after each lost race. */
import type { Random } from '../replication/random';
import type { Change } from './model';
import { type DocRow, IDS } from './rows';

type Content = Pick<DocRow, 'place' | 'chunks' | 'byte'>;

export interface PlannedWrite {
  /** The rows that it asks for. */
  readonly ids: readonly string[];
  at(
    n: number,
    by: string,
    found: readonly (DocRow | undefined)[],
    content: Content,
  ): { readonly put: DocRow[]; readonly removed: string[]; readonly changes: Change[] };
}

/** Texts of most rows come to a tail or a segment with others, of some to pieces. */
const SHORT = 60;
const LONG = 900;

export function planWrite(random: Random): PlannedWrite {
  const count = random.chance(0.2) ? 3 + random.below(12) : 1 + random.below(3);
  const ids = [...new Set(Array.from({ length: count }, () => random.pick(IDS)))];
  const steps = ids.map(() => ({
    kind: random.below(8),
    length: random.below(random.chance(0.08) ? LONG : SHORT),
  }));
  const target = random.pick(IDS);
  return {
    ids: [...ids, target],
    at(n, by, found, content) {
      const put: DocRow[] = [];
      const removed: string[] = [];
      const changes: Change[] = [];
      let left: Content = content;
      let isMoved = ids.includes(target) || found.at(-1) !== undefined;
      for (const [i, id] of ids.entries()) {
        const row = found[i];
        const seq = n * 100 + i;
        const { kind, length } = steps[i]!;
        if (row !== undefined && kind === 0) {
          removed.push(id);
          changes.push({ kind: 'removed', id });
        } else if (row !== undefined && kind === 1 && !isMoved) {
          isMoved = true;
          removed.push(id);
          put.push({ ...row, id: target, seq });
          changes.push({ kind: 'kept', id: target, seq, from: id });
        } else if (row !== undefined && kind === 2) {
          put.push({ ...row, seq });
          changes.push({ kind: 'kept', id, seq, from: id });
        } else {
          const body = JSON.stringify(`${by} ${n} ${id} ${'x'.repeat(length)}`);
          put.push({ id, seq, body, ...left });
          changes.push({ kind: 'written', id, seq, body });
          left = {};
        }
      }
      return { put, removed, changes };
    },
  };
}
