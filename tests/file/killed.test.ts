/**
 * kill -9 of a process that edits documents, while another call of it follows them. The same database goes on through all kills.
 * Every acknowledged write is there, a bulk that was under way whole or not at all, counts and the index say what the documents are,
 * and no seq that the feed told is given to another change.
 */
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { bundled, start } from './child';
import { home } from './support';

/** As many as asked for. */
const KILLS = Number(process.env.KILLS ?? 12);
vi.setConfig({ testTimeout: 300_000 * Math.max(1, KILLS / 12) });
const base = home();

interface Edit {
  readonly id: string;
  readonly n: number;
  readonly deleted: boolean;
  readonly rev?: string;
}
interface Found {
  readonly count: number;
  readonly seq: number;
  readonly rows: readonly [id: string, seq: number, rev: string, deleted: boolean, n: number | undefined][];
  readonly listed: readonly [id: string, rev: string][];
  readonly found: readonly string[];
  readonly damaged: readonly string[];
  readonly conflicts: readonly string[];
}

/** What its programs said, over all their lives. */
class History {
  readonly #docs = new Map<string, Edit>();
  readonly #underWay = new Map<number, readonly Edit[]>();
  readonly #seen = new Map<number, string>();
  readonly #told = new Map<string, string>();
  lastN = 0;
  lastSeq = 0;
  acknowledged = 0;

  hear(line: string): void {
    const [kind, number, ...rest] = line.split(' ');
    const at = Number(number);
    if (kind === 't') {
      this.lastN = at;
      const edits = rest.map((each) => ({ id: each.slice(1), n: at, deleted: each[0] === '-' }));
      this.#underWay.set(at, edits);
    } else if (kind === 'a') {
      const edits = this.#underWay.get(at)!;
      for (const [i, edit] of edits.entries()) this.#docs.set(edit.id, { ...edit, rev: rest[i]! });
      this.acknowledged += edits.length;
      this.#underWay.delete(at);
    } else if (kind === 's') this.#see(at, rest);
  }

  #see(seq: number, [id, rev]: string[]): void {
    expect(seq, `seq told after ${this.lastSeq}`).toBeGreaterThan(this.lastSeq);
    this.lastSeq = seq;
    this.#seen.set(seq, `${id} ${rev}`);
    this.#told.set(id!, rev!);
  }

  check({ count, seq, rows, listed, found, damaged, conflicts }: Found, life: string): void {
    const there = new Map(rows.map(([id, , rev, deleted, n]) => [id, { rev, deleted, n }]));
    for (const edits of this.#underWay.values()) {
      const done = edits.map(({ id, n }) => there.get(id)?.n === n);
      expect(new Set(done).size, `${life}: a bulk in part`).toBe(1);
      if (done[0]) for (const edit of edits) this.#docs.set(edit.id, edit);
    }
    this.#underWay.clear();
    const docs = rows.filter(([id]) => !id.startsWith('_design/'));
    expect(docs.length, life).toBe(this.#docs.size);
    for (const [id, edit] of this.#docs) {
      const row = there.get(id);
      expect({ id, n: row?.n, deleted: row?.deleted }, life).toEqual({
        id,
        n: edit.n,
        deleted: edit.deleted,
      });
      if (edit.rev !== undefined) expect(row?.rev, `${life}: ${id}`).toBe(edit.rev);
    }
    const live = rows.filter(([, , , deleted]) => !deleted);
    const byId = (list: readonly (readonly [string, ...unknown[]])[]) => list.map(([id]) => id).sort();
    expect(count, `${life}: count`).toBe(live.length);
    expect(seq, `${life}: update_seq`).toBe(rows.at(-1)?.[1] ?? 0);
    expect(new Map(listed), life).toEqual(new Map(live.map(([id, , rev]) => [id, rev])));
    expect([...found].sort(), `${life}: index`).toEqual(
      byId(live.filter(([id]) => !id.startsWith('_design/'))),
    );
    expect([damaged, conflicts], `${life}: attachments, conflicts`).toEqual([[], []]);
    expect(seq, `${life}: seq went back`).toBeGreaterThanOrEqual(this.lastSeq);
    for (const [id, at, rev] of rows) {
      const told = this.#seen.get(at);
      if (told !== undefined) expect(`${id} ${rev}`, `${life}: seq ${at} given twice`).toBe(told);
      // What the feed has passed it has told.
      if (at <= this.lastSeq) expect(this.#told.get(id), `${life}: ${id} at ${at} was not told`).toBe(rev);
    }
  }
}

it(`a database has all that was acknowledged, ${KILLS} times killed`, async () => {
  const script = bundled('killed-child.ts', base);
  const history = new History();
  let opened = 0;
  for (let kill = 0; kill <= KILLS; kill++) {
    const life = `life ${kill}`;
    const { lastN, lastSeq } = history;
    // After other numbers of acknowledgements each time; now and then while it opens.
    const wanted = kill % 8 === 7 ? -1 : (kill * 7919) % 499;
    const before = history.acknowledged;
    let failure: unknown;
    const args = [join(base, 'killed'), kill % 2 === 0 ? 'relaxed' : 'strict', `${lastN}`, `${lastSeq}`];
    const { child, ended } = start(script, args, (line, child) => {
      try {
        if (line.startsWith('o ')) {
          opened++;
          history.check(JSON.parse(line.slice(2)), life);
          if (kill === KILLS) child.kill('SIGKILL');
        } else history.hear(line);
      } catch (error) {
        failure ??= error;
        child.kill('SIGKILL');
      }
      if (history.acknowledged - before > wanted) child.kill('SIGKILL');
    });
    const timer = wanted < 0 ? setTimeout(() => child.kill('SIGKILL'), 60 + ((kill * 37) % 140)) : undefined;
    const code = await ended;
    clearTimeout(timer);
    if (failure !== undefined) throw failure;
    expect(code, `${life} ended by itself`).toBe(null);
  }
  expect(opened).toBeGreaterThan(KILLS / 2);
  if (process.env.KILLS)
    console.info(`${KILLS} kills, ${history.acknowledged} writes, seq ${history.lastSeq}`);
});
