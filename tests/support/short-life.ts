/**
 * A short life of a database, in which all kinds of calls come once, and what must hold after it, whichever step of its storage
 * failed. Every call that was answered counts; one that was refused may have been done or not.
 */
import { type ChangesResult, isDatabaseError } from '@settledb/core';
import { expect } from 'vitest';
import type { SettleDB } from '../../packages/settledb/src/settledb';

type Open = () => SettleDB;

/** No call takes longer, on machines that stand still for seconds. */
const LIMIT_MS = 30_000;
const LARGE = 1_100_000;

export class Life {
  /** Revisions that were acknowledged, by id. */
  readonly written = new Map<string, string[]>();
  readonly errors: { readonly name: string; readonly status: number }[] = [];
  /** What the feed gave last, by id. */
  readonly seen = new Map<string, string>();
  #call = '';

  /** @param other a connection of its own to the same database, where there can be one */
  async live(open: Open, label: string, other?: Open): Promise<void> {
    this.#call = label;
    const db = open();
    // A feed of what cannot be opened fails.
    for (let tries = 0; tries < 2; tries++) await this.#try(() => db.info());
    const seqs: number[] = [];
    const feed = db.changes({ live: true, since: 0 });
    const over = Promise.resolve(feed);
    feed.on('change', ({ id, seq, changes }) => {
      seqs.push(seq as number);
      this.seen.set(id, changes[0]!.rev);
    });
    const rev = await this.#write('a', () => db.put({ _id: 'a', n: 0 }));
    await Promise.all([1, 2, 3].map((n) => this.#write(`p${n}`, () => db.put({ _id: `p${n}`, n }))));
    const many = Array.from({ length: 30 }, (_, n) => ({ _id: `m${n}`, n }));
    for (const { id, rev } of (await this.#try(() => db.bulkDocs(many))) ?? []) this.#told(id!, rev);
    if (rev !== undefined) await this.#write('a', () => db.put({ _id: 'a', _rev: rev, n: 1 }));
    const copied = { _id: 'copied', _rev: '1-00000000000000000000000000000001' };
    if (await this.#try(() => db.bulkDocs([copied], { new_edits: false }))) this.#told('copied', copied._rev);
    for (const [id, length] of [['small', 100] as const, ['large', LARGE] as const]) {
      const content = new Blob([new Uint8Array(length)]);
      if (!(await this.#write(id, () => db.putAttachment(id, 'x', content, 'text/plain')))) continue;
      const got = await this.#try(() => db.getAttachment(id, 'x'));
      if (got !== undefined) expect((got as Blob).size ?? (got as Uint8Array).length, label).toBe(length);
    }
    await this.#try(() => db.createIndex({ index: { fields: ['n'] } }));
    await this.#try(() => db.find({ selector: { n: { $gt: 1 } } }));
    await this.#try(() => db.put({ _id: '_local/x', n: 1 }));
    await this.#try(() => db.compact());
    const second = other?.();
    if (second !== undefined) {
      await Promise.all([
        this.#write('o', () => second.put({ _id: 'o' })),
        this.#write('d', () => db.put({ _id: 'd' })),
      ]);
      await this.#try(() => second.allDocs());
    }
    const [gone] = this.written.get('p1') ?? [];
    if (gone !== undefined) await this.#write('p1', () => db.remove('p1', gone));
    await this.#try(() => db.compact());
    await this.#write('last', () => db.put({ _id: 'last' }));
    const info = await this.#try(() => db.info());
    if (info !== undefined)
      await expect
        .poll(() => seqs.at(-1) ?? 0, { message: label })
        .toBeGreaterThanOrEqual(info.update_seq as number);
    feed.cancel();
    expect(await over, label).toEqual({ status: 'cancelled' });
    expect(seqs, label).toEqual([...new Set(seqs)].sort((a, b) => a - b));
    await this.#try(() => second?.close() ?? Promise.resolve());
    await this.#try(() => db.close());
  }

  /** Nothing fails any more. */
  async check(open: Open, label: string): Promise<void> {
    const db = open();
    const { rows } = await db.allDocs();
    expect((await db.info()).doc_count, label).toBe(rows.length);
    const changes = (await db.changes()) as ChangesResult;
    const changed = changes.results.map(({ id }) => id);
    expect([...new Set(changed)], label).toEqual(changed);
    for (const [id, revs] of this.written) {
      const [{ ok }] = (await db.get(id, { open_revs: 'all', revs: true })) as never as [
        { ok: { _revisions: { start: number; ids: string[] } } },
      ];
      const { start, ids } = ok._revisions;
      expect(
        ids.map((hash, at) => `${start - at}-${hash}`),
        `${label}: ${id}`,
      ).toEqual(expect.arrayContaining(revs));
      expect(this.seen.get(id), `${label}: ${id}`).toBe(`${start}-${ids[0]}`);
    }
    for (const id of ['small', 'large']) if (this.written.has(id)) await db.getAttachment(id, 'x');
    const found = await db.find({ selector: { n: { $gt: 1 } }, limit: 100 });
    const { rows: all } = await db.allDocs({ include_docs: true });
    const wanted = all.filter(({ doc }) => Number((doc as { n?: number }).n) > 1).map(({ id }) => id);
    expect(found.docs.map(({ _id }) => _id).sort(), label).toEqual(wanted.sort());
    await db.compact();
    await db.destroy();
  }

  async #write(id: string, call: () => Promise<{ rev: string }>): Promise<string | undefined> {
    const done = await this.#try(call);
    if (done !== undefined) this.#told(id, done.rev);
    return done?.rev;
  }

  #told(id: string, rev: string | undefined): void {
    if (rev !== undefined) this.written.set(id, [...(this.written.get(id) ?? []), rev]);
  }

  async #try<T>(call: () => Promise<T>): Promise<T | undefined> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`${this.#call}: never answered: ${call}`)), LIMIT_MS);
    });
    try {
      return await Promise.race([call(), late]);
    } catch (error) {
      if (!isDatabaseError(error)) throw error;
      this.errors.push(error);
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }
}
