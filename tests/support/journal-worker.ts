/** The worker side of journal-context.ts: one journal over IndexedDB in a thread of its own, driven by messages. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import type { Journal, Position } from '@settledb/engine';

const adapter = indexeddb();
let journal: Journal;
/** The last commit this context knows, kept as an engine does. */
let known = 0;

/**
 * How long a blocked thread looks once, and not at all between two looks. In WebKit one that looked without a pause, or without an end,
 * sometimes did not learn for minutes that the URL was gone.
 */
const LOOK_MS = 1_000;
const BETWEEN_MS = 20;

const calls = {
  async open(name: string): Promise<void> {
    journal = await adapter.open(name);
    journal.listen(({ type }) => {
      postMessage({ event: type });
    });
  },
  read: async (known?: Position) => journal.read(known),
  append: async (n: number, head: string, expected: Position) =>
    journal.append({ n, head, tail: '', segments: [] }, expected, 'relaxed'),
  alone: async () => journal.alone(),
  /** Commits, however many races it takes; the number it got. */
  async put(): Promise<number> {
    for (;;) {
      const commit = { n: known + 1, head: 'put', tail: '', segments: [] };
      const behind = await journal.append(commit, { epoch: 0, n: known }, 'relaxed');
      known = behind?.commits.at(-1)?.n ?? known + 1;
      if (behind === undefined) return known;
    }
  },
  /** The last commit as a reader sees it, who asks the storage only when not alone. */
  async get(): Promise<number> {
    if (journal.alone()) return known;
    known = Math.max(known, (await journal.read({ epoch: 0, n: known })).commits.at(-1)?.n ?? 0);
    return known;
  },
  exclusively: async () => journal.exclusively(async () => {}),
  close: async () => journal.close(),
  destroy: async (name: string) => adapter.destroy(name),
  /**
   * Blocks the thread until the object URL is revoked, which a blocked thread can see too, and says at the end of the same task
   * whether the journal still believes to be alone.
   */
  block: async (until: string) => {
    postMessage({ event: 'blocking' });
    while (isThere(until)) for (const end = performance.now() + BETWEEN_MS; performance.now() < end; );
    return journal.alone();
  },
} satisfies Record<string, (...args: never[]) => Promise<unknown>>;

function isThere(url: string): boolean {
  const request = new XMLHttpRequest();
  request.open('GET', url, false);
  request.timeout = LOOK_MS;
  try {
    request.send();
  } catch (error) {
    return (error as DOMException).name === 'TimeoutError'; // other errors say that it is gone
  }
  return request.status === 200;
}

export type JournalCalls = typeof calls;

addEventListener(
  'message',
  ({ data }: MessageEvent<{ id: number; call: keyof JournalCalls; args: never[] }>) => {
    const call = calls[data.call] as (...args: never[]) => Promise<unknown>;
    call(...data.args).then(
      (value) => postMessage({ id: data.id, value }),
      (error) => postMessage({ id: data.id, error: { name: error.name, message: error.message } }),
    );
  },
);
