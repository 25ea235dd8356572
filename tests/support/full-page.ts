/** What runs in the page of tests/tabs/full.test.ts. */
import { SettleDB } from '../../packages/settledb/src/entry.browser';

type Put = { ok: true; id: string; rev: string };
let db: SettleDB<{ text?: string }>;
/** Documents that were acknowledged and not removed. */
const there = new Map<string, string>();

/** That no browser can compress. */
function noise(length: number): string {
  let text = '';
  while (text.length < length) {
    const bytes = crypto.getRandomValues(new Uint8Array(Math.min(30_000, length)));
    text += btoa(String.fromCharCode(...bytes));
  }
  return text.slice(0, length);
}

const named = (error: unknown): string => (error as Error).name;

const calls = {
  open(name: string): void {
    db = new SettleDB(name);
  },
  /** Documents of so many characters until three in a row are refused. @returns what with */
  async fill(kind: 'document' | 'attachment', length: number): Promise<string> {
    for (let refused = 0; ; ) {
      const id = crypto.randomUUID();
      try {
        const put =
          kind === 'document'
            ? db.put({ _id: id, text: noise(length) })
            : db.putAttachment(id, 'f', null, new Blob([noise(length)]), 'a/b');
        there.set(id, ((await put) as Put).rev);
        refused = 0;
      } catch (error) {
        if (++refused === 3) return named(error);
      }
    }
  },
  /** So many documents of so many characters in one call. */
  async fillAtOnce(count: number, length: number): Promise<void> {
    const docs = Array.from({ length: count }, () => ({ _id: crypto.randomUUID(), text: noise(length) }));
    for (const done of await db.bulkDocs(docs)) there.set((done as Put).id, (done as Put).rev);
  },
  /** Three in four of all. @returns how many, and how many were refused */
  async remove(): Promise<{ removed: number; refused: number }> {
    let [removed, refused] = [0, 0];
    for (const [at, [id, rev]] of [...there].entries()) {
      if (at % 4 === 0) continue;
      try {
        await db.remove(id, rev);
        there.delete(id);
        removed++;
      } catch {
        refused++;
      }
    }
    return { removed, refused };
  },
  compact: () => db.compact().then(() => 'ok', named),
  async put(length: number): Promise<string> {
    try {
      const { id, rev } = (await db.post({ text: noise(length) })) as Put;
      there.set(id, rev);
      return 'ok';
    } catch (error) {
      return named(error);
    }
  },
  /** @returns how many documents there are, and how many of those acknowledged are missing or are another revision */
  async look(): Promise<{ count: number; wrong: number }> {
    const { rows } = await db.allDocs();
    const revs = new Map(rows.map((row) => [row.id, 'value' in row ? row.value.rev : undefined]));
    let wrong = 0;
    for (const [id, rev] of there) if (revs.get(id) !== rev) wrong++;
    for (const id of there.keys()) await db.get(id);
    return { count: rows.length, wrong };
  },
  usage: async () => (await navigator.storage.estimate()).usage,
  async again(name: string): Promise<void> {
    await db.close();
    db = new SettleDB(name);
  },
};
Object.assign(globalThis, { calls });
