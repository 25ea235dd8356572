/**
 * What runs in each tab of browsers that are killed: it tells the server what it finds, and once all tabs have, it writes without end
 * and tells what was acknowledged. Its address says what to do, so that a browser needs no driver: those of Firefox and WebKitGTK have
 * a profile that ends with them.
 */
import { type ChangesResult, SettleDB } from '../../packages/settledb/src/entry.browser';
import { connect } from '../../packages/settledb/src/worker';

export interface Task {
  /** Where the database is: in the page, or in a worker of that kind, with IndexedDB or private files. */
  readonly where: 'page' | 'dedicated' | 'shared' | 'service' | 'private files';
  /** Begins the ids of all that this tab writes. */
  readonly tab: string;
}

/** Winners by id, also deleted ones, and what does not agree with them. */
export interface Found {
  readonly revs: Readonly<Record<string, string>>;
  readonly problems: readonly string[];
}

export interface Acknowledged {
  readonly id: string;
  readonly rev: string;
}

/** Bytes of attachments: stored with their document, in a pack, in chunks. */
const SIZES = [10, 40_000, 400_000];
/** ms before a call that was refused is made again, as its worker has ended. */
const AGAIN_MS = 20;

const { where, tab }: Task = JSON.parse(decodeURIComponent(location.search.slice(1)));
const views = { byN: (doc: { n?: number }, emit: (key: unknown) => void) => emit(doc.n) };

function open(): SettleDB {
  if (where === 'page') return new SettleDB('killed', { views });
  const script = where === 'private files' ? '/opfs.js' : '/worker.js';
  const adapters = [where === 'private files' ? 'opfs' : 'indexeddb'];
  if (where === 'service') void navigator.serviceWorker.register(script, { type: 'module' });
  const make = (): Worker | SharedWorker =>
    where === 'shared'
      ? new SharedWorker(script, { type: 'module' })
      : new Worker(script, { type: 'module' });
  const Hosted = connect(where === 'service' ? navigator.serviceWorker : make, { adapters });
  return new Hosted('killed') as unknown as SettleDB;
}

const db = open();

const tell = (path: string, body: unknown): Promise<unknown> =>
  fetch(path, { method: 'POST', body: JSON.stringify({ tab, body }) });

/** What a document's name says that it has. */
function contentOf(id: string, size: number): Uint8Array<ArrayBuffer> {
  const seed = [...id].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) | 0, 7);
  return new Uint8Array(size).map((_, at) => (at * 13 + seed + (at >> 8)) & 255);
}

/** Asks for everything, in each way that there is. */
async function look(): Promise<Found> {
  const problems: string[] = [];
  const compare = (what: string, found: unknown, expected: unknown): void => {
    const [one, other] = [JSON.stringify(found), JSON.stringify(expected)];
    if (one !== other) problems.push(`${what}: ${one.slice(0, 200)}, not ${other.slice(0, 200)}`);
  };
  const { doc_count, doc_del_count, update_seq } = await db.info();
  const { results, last_seq } = (await db.changes({ since: 0 })) as ChangesResult;
  const { rows } = await db.allDocs({ include_docs: true, attachments: true, binary: true } as object);
  const living = results.filter(({ deleted }) => deleted !== true).map(({ id }) => id);
  const ids = rows.map(({ id }) => id);
  compare('counts', [doc_count, doc_del_count], [rows.length, results.length - living.length]);
  compare('update_seq', update_seq, last_seq);
  compare('ids', ids, living.sort());
  const seqs = results.map(({ seq }) => Number(seq));
  compare(
    'seqs',
    seqs,
    [...new Set(seqs)].sort((a, b) => a - b),
  );
  const revs = Object.fromEntries(results.map(({ id, changes }) => [id, changes[0]!.rev]));
  for (const { id, doc } of rows as unknown as { id: string; doc: Stored }[]) {
    compare(id, doc._rev, revs[id]);
    if (doc._attachments === undefined) continue;
    const read = new Uint8Array(await doc._attachments.f.data.arrayBuffer());
    const wanted = contentOf(id, SIZES[doc.n % SIZES.length]!);
    compare(
      `content of ${id}`,
      [read.length, read.every((byte, at) => byte === wanted[at])],
      [wanted.length, true],
    );
  }
  if (where === 'page') compare('view', (await db.query('byN')).rows.map(({ id }) => id).sort(), living);
  return { revs, problems };
}

interface Stored {
  readonly _rev: string;
  readonly n: number;
  readonly _attachments?: { readonly f: { readonly data: Blob } };
}

const acknowledged: Acknowledged[] = [];
let isTelling = false;

async function acknowledge(...more: Acknowledged[]): Promise<void> {
  acknowledged.push(...more);
  if (isTelling) return;
  isTelling = true;
  while (acknowledged.length > 0) await tell('/acknowledged', acknowledged.splice(0)).catch(() => {});
  isTelling = false;
}

/** Until it is there: of a call whose worker ended, it is not known whether it was done. */
async function put(doc: { _id: string; n: number; _rev?: string }, size?: number): Promise<string> {
  for (let _rev = doc._rev; ; ) {
    try {
      // Anew for each attempt: WebKit loses a page's Blobs, too, with the process that has its storage.
      const f = size !== undefined && { content_type: 'a/b', data: new Blob([contentOf(doc._id, size)]) };
      const whole = { ...doc, ...(_rev && { _rev }), ...(f && { _attachments: { f } }) };
      const { id, rev } = await db.put(whole as object as { _id: string });
      void acknowledge({ id, rev });
      return rev;
    } catch (error) {
      await refused(error);
      const there = (await db.get(doc._id).catch(() => undefined)) as Stored | undefined;
      if (there?.n === doc.n) return there._rev;
      _rev = there?._rev;
    }
  }
}

async function refused(error: unknown): Promise<void> {
  const { name, reason } = error as { name: string; reason?: string };
  await tell('/refused', `${name}: ${reason ?? error}`).catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
}

async function writeForEver(): Promise<void> {
  for (let n = 0; ; n++) {
    const _id = `${tab} ${n}`;
    if (n % 13 === 9) {
      const docs = Array.from({ length: 7 }, (_, at) => ({ _id: `${_id} ${at}`, n }));
      await db.bulkDocs(docs).then((answers) => acknowledge(...(answers as Acknowledged[])), refused);
      continue;
    }
    const _rev = await put({ _id, n }, n % 11 === 7 ? SIZES[n % SIZES.length] : undefined);
    if (n % 5 === 4) await put({ _id, n: n + 0.5, _rev });
    else if (n % 17 === 12) await db.remove(_id, _rev).then(acknowledge, refused);
  }
}

addEventListener('unhandledrejection', ({ reason }) => void tell('/broken', `nobody handled ${reason}`));
look()
  .then((found) => tell('/found', found))
  .then(writeForEver)
  .catch((error) => tell('/broken', `${error.name}: ${error.reason ?? error}`));
