/** What runs in the page of `pages.test.ts`: a database in IndexedDB that syncs with a server, driven from the test. */
import { SettleDB, type Sync, type SyncStatus } from '../../packages/settledb/src/entry.browser';

type Content = Record<string, unknown>;

const db = new SettleDB<Content>('device');
let both: Sync | undefined;
const phases: string[] = [];

/** A status as plain data: errors lose their fields on the way out of a page. */
const plain = ({ push, pull }: SyncStatus): unknown =>
  JSON.parse(JSON.stringify({ push, pull }, (name, value) => (name === 'error' ? value?.name : value)));

const program = {
  begin(url: string, options: object = {}): void {
    both = db.sync(url, { live: true, retry: true, ...options });
    both.catch(() => undefined);
    void (async () => {
      for await (const { push, pull } of both.statuses()) phases.push(`${push.phase} ${pull.phase}`);
    })();
  },
  cancel: async (): Promise<void> => {
    both?.cancel();
    await both;
  },
  status: (): unknown => (both === undefined ? undefined : plain(both.status())),
  phases: (): readonly string[] => phases,
  fill: async (prefix: string, count: number): Promise<void> => {
    const docs = Array.from({ length: count }, (_, i) => ({ _id: `${prefix}${i}`, text: 'x'.repeat(200) }));
    await db.bulkDocs(docs);
  },
  put: (doc: Content & { _id: string }) => db.put(doc),
  update: async (id: string, content: Content): Promise<void> => {
    await db.put({ ...(await db.get(id)), ...content });
  },
  count: async (): Promise<number> => (await db.info()).doc_count,
  /** Every leaf by document, as the server's are read. */
  leaves: async (): Promise<Record<string, string[]>> => {
    const answer = await db.changes({ style: 'all_docs' });
    const results = 'results' in answer ? answer.results : [];
    return Object.fromEntries(results.map(({ id, changes }) => [id, changes.map(({ rev }) => rev).sort()]));
  },
};

export type PageProgram = typeof program;
Object.assign(globalThis, { program });
