/** The page side of tests/tabs/presence.test.ts: one journal over IndexedDB, driven from outside. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import type { Journal, Position } from '@settledb/engine';

let journal: Journal;
let known: Position = { epoch: 0, n: 0 };
/** Heads of the commits that were acknowledged to this page. */
const acknowledged: string[] = [];

async function commit(head: string, size = 0): Promise<void> {
  for (;;) {
    const n = known.n + 1;
    const segments = size === 0 ? [] : [{ id: n * 4096 + 1, text: noise(size) }];
    const behind = await journal.append({ n, head, tail: '', segments }, known, 'relaxed');
    known = { epoch: known.epoch, n: behind?.commits.at(-1)?.n ?? n };
    if (behind === undefined) break;
  }
  acknowledged.push(head);
}

/** Text that does not compress. */
function noise(size: number): string {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
}

const calls = {
  async open(name: string): Promise<void> {
    journal = await indexeddb().open(name);
  },
  async commit(head: string, size?: number): Promise<string> {
    return commit(head, size).then(
      () => 'done',
      (error) => error.name,
    );
  },
  async commits(prefix: string, count: number): Promise<void> {
    for (let i = 0; i < count; i++) await commit(`${prefix} ${i}`);
  },
  /** Commits without end, each acknowledgement told to the console; ends with the page. */
  async commitForEver(prefix: string): Promise<void> {
    for (let i = 0; ; i++) {
      await commit(`${prefix} ${i}`);
      console.log(`acknowledged ${prefix} ${i}`);
    }
  },
  heads: async () => (await journal.read()).commits.map(({ head }) => head),
  /** Reads, then says whether the journal is alone. */
  async alone(): Promise<boolean> {
    await journal.read();
    return journal.alone();
  },
  acknowledged: async () => acknowledged,
};

export type JournalPage = typeof calls;

Object.assign(globalThis, { calls });
