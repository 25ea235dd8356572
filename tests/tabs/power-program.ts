/** Writes what Chromium would rather keep in files of its own: large commits of documents that do not compress. */
import { SettleDB } from '../../packages/settledb/src/entry.browser';
import { noiseText } from '../conformance/journal-bench';

interface Doc {
  readonly _id: string;
  readonly n: number;
  readonly text: string;
}

const COUNT = 3_000;
const WORDS = 'документ правка ревизия без сети 数据库 离线 同步 文档 浏览器 conflict sync'.split(' ');

/** Prose of several scripts, which compresses somewhat, a hundred at a time; noise otherwise; and now and then a long one. */
function textOf(n: number, edits: number): string {
  const seed = n + edits;
  if (n % 100 === 7) return noiseText(90_000, seed);
  if (n % 600 < 300) return noiseText(300, seed, n % 3 === 0);
  return [...noiseText(60, seed)].map((letter) => WORDS[letter.charCodeAt(0) % WORDS.length]).join(' ');
}
/** Ids without a pattern, so that what names them has none either. */
const idOf = (n: number): string => `${n} ${noiseText(30, n)}`;

/** @returns how many documents were acknowledged */
async function fill(): Promise<number> {
  const db = new SettleDB<Doc>('power');
  const docs = Array.from({ length: COUNT }, (_, n) => ({ _id: idOf(n), n, text: textOf(n, 0) }));
  const rows = await db.bulkDocs(docs);
  const edits = docs.flatMap((doc, n) => {
    const row = rows[n]!;
    return n % 2 === 0 || !('rev' in row) ? [] : [{ ...doc, _rev: row.rev, text: textOf(n, 1) }];
  });
  await db.bulkDocs(edits);
  return (await db.info()).doc_count;
}

/** Of a document that had characters beyond Latin-1, once `narrow` was called. */
const narrowText = (n: number): string => noiseText(300, n);

/** Leaves only what is Latin-1, moved out of blocks that were not: V8 still has two bytes for each of its characters. */
async function narrow(): Promise<void> {
  const db = new SettleDB<Doc>('power');
  const { rows } = await db.allDocs({ include_docs: true });
  const docs = rows.map(({ doc }) => doc as unknown as Doc & { _rev: string });
  const wide = docs.filter(({ n }) => n % 3 === 0);
  await db.bulkDocs(wide.map((doc) => ({ ...doc, text: narrowText(doc.n) })));
  await db.compact();
}

/** @returns what is not as it was written */
async function look(isNarrow: boolean): Promise<string[]> {
  const db = new SettleDB<Doc>('power');
  const { rows } = await db.allDocs({ include_docs: true });
  const wrong = rows.filter(({ id, doc }) => {
    const { n, text } = doc as unknown as Doc;
    const expected = isNarrow && n % 3 === 0 ? narrowText(n) : textOf(n, n % 2);
    return id !== idOf(n) || text !== expected;
  });
  await db.put({ _id: 'later', n: -1, text: '' });
  return rows.length === COUNT ? wrong.map(({ id }) => id) : [`${rows.length} documents`];
}

Object.assign(globalThis, { calls: { fill, narrow, look } });
