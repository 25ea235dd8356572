/** Chance that can be played again, and edits made by it. */
import type { AnyDatabase } from './databases';

export class Random {
  #state: number;
  constructor(seed: number) {
    this.#state = seed | 0;
  }
  /** 0 ≤ x < 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }
  below(n: number): number {
    return Math.floor(this.next() * n);
  }
  chance(p: number): boolean {
    return this.next() < p;
  }
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }
}

const IDS = ['a', 'b', 'c', 'constructor', 'e/f', 'g'];

export interface EditOptions {
  /** Some edits put an attachment on their document, or keep those it has. Default false. */
  readonly attachments?: boolean;
}

const attachment = (text: string): object => ({ f: { content_type: 'text/plain', data: btoa(text) } });

/** One edit of one document: new, of any leaf, deleting, or a foreign branch. */
export async function edit(
  db: AnyDatabase,
  random: Random,
  { attachments = false }: EditOptions = {},
): Promise<void> {
  const _id = random.pick(IDS);
  const value = random.below(1000);
  if (random.chance(0.2)) {
    // A revision has one parent and one body wherever it is made: both are told by its hash.
    const path = Array.from({ length: 1 + random.below(3) }, () => random.below(6).toString(16)).join('');
    const ids = Array.from({ length: path.length }, (_, i) => path.slice(0, path.length - i));
    const _rev = `${path.length}-${path}`;
    const files = attachments && path.endsWith('1') ? { _attachments: attachment(path) } : {};
    const foreign = { _id, _rev, _revisions: { start: ids.length, ids }, value: path, ...files };
    await db.bulkDocs([foreign as never], { new_edits: false });
    return;
  }
  const leaves = await db.get(_id, { open_revs: 'all' }).catch(() => []);
  const live = leaves.flatMap((leaf) => ('ok' in leaf && leaf.ok._deleted !== true ? [leaf.ok] : []));
  const leaf = live.length === 0 ? undefined : random.pick(live);
  const files = !attachments || leaf?._attachments === undefined ? {} : { _attachments: leaf._attachments };
  const base = leaf === undefined ? {} : { _rev: leaf._rev, ...files };
  const added =
    attachments && random.chance(0.3) ? { _attachments: attachment(String(random.below(4))) } : {};
  const deleted = live.length > 0 && random.chance(0.2) ? { _deleted: true } : {};
  await db.bulkDocs([{ _id, ...base, ...added, ...deleted, value } as never]);
}

/** What was asked for: pages cannot be asked. */
const env: Readonly<Record<string, string | undefined>> = globalThis.process?.env ?? {};

/** Milliseconds for so many trials, and in proportion for more. */
export const timeFor = (usual: number): number => 600_000 * Math.max(1, Number(env.TRIALS ?? usual) / usual);

/** Runs `trial` for as many seeds as usual, or as `TRIALS` in the environment says; for one, if `SEED` is there. A failure names its seed. */
export async function trials(usual: number, trial: (seed: number) => Promise<void>): Promise<void> {
  const given = env.SEED;
  const count = given === undefined ? Number(env.TRIALS ?? usual) : 1;
  const first = given === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(given);
  for (let seed = first; seed < first + count; seed++) {
    try {
      await trial(seed);
    } catch (error) {
      if (error instanceof Error) error.message = `SEED=${seed}: ${error.message}`;
      throw error;
    }
  }
}
