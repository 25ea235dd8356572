/**
 * Run as a process of its own and killed by killed.test.ts: says what the database has, then writes as fast as it can, three writers
 * at once, and says what it is about to write (`t 17 put d3`), what was acknowledged (`a 17 2-…`), and what a feed told (`s 40 d3 2-…`).
 */
import { writeSync } from 'node:fs';
import SettleDB, { type ChangesResult } from '../../packages/settledb/src/entry.node';

const WRITERS = 3;
/** Documents of each writer: few, so that most writes are edits. */
const EACH = 12;
const [, , folder = '', durability = 'relaxed', from = '0', since = '0'] = process.argv;

const say = (line: string): void => void writeSync(1, `${line}\n`);

/** What it has, read in every way there is. */
async function contents(db: SettleDB): Promise<object> {
  const info = await db.info();
  const answer = await db.changes({ include_docs: true, conflicts: true });
  const { results } = answer as ChangesResult<Record<string, unknown> & { n: number }>;
  const { rows } = await db.allDocs();
  const { docs } = await db.find({ selector: { n: { $gte: 0 } }, fields: ['_id'], limit: 1_000 });
  const files: string[] = [];
  for (const { id, doc } of results) {
    if (doc?._attachments === undefined) continue;
    const bytes = (await db.getAttachment(id, 'f')) as Uint8Array;
    if (Buffer.from(bytes).toString() !== contentOf(doc.n)) files.push(id);
  }
  return {
    count: info.doc_count,
    seq: info.update_seq,
    rows: results.map(({ id, seq, doc }) => [id, seq, doc?._rev, doc?._deleted === true, doc?.n]),
    listed: rows.map(({ id, value }) => [id, value.rev]),
    found: docs.map(({ _id }) => _id),
    damaged: files,
    conflicts: results.filter(({ doc }) => doc?._conflicts !== undefined).map(({ id }) => id),
  };
}

const contentOf = (n: number): string => `content of ${n} `.repeat(n % 11 === 0 ? 3_000 : 1);

let n = Number(from);

async function write(db: SettleDB, writer: number): Promise<void> {
  const revs = new Map<string, string>();
  for (const { id, value } of (await db.allDocs()).rows) revs.set(id, value.rev);
  for (let step = 0; ; step++) {
    const mine = ++n;
    const ids = Array.from({ length: mine % 5 === 0 ? 4 : 1 }, (_, i) => {
      return `d${((mine * 31 + i * 7) % EACH) * WRITERS + writer}`;
    });
    const edits = [...new Set(ids)].map((_id, i) => {
      const _rev = revs.get(_id);
      const doc = { _id, ...(_rev && { _rev }), n: mine };
      if (_rev !== undefined && (mine + i) % 6 === 0) return { ...doc, _deleted: true as const };
      const text = 'x'.repeat(mine % 17 === 0 ? 20_000 : mine % 40);
      const f = { content_type: 'text/plain', data: Buffer.from(contentOf(mine)).toString('base64') };
      return { ...doc, text, ...(mine % 9 === 0 && { _attachments: { f } }) };
    });
    say(`t ${mine} ${edits.map((each) => `${'_deleted' in each ? '-' : '+'}${each._id}`).join(' ')}`);
    const answers = await db.bulkDocs(edits);
    for (const [i, row] of answers.entries()) {
      const { _id } = edits[i]!;
      if (!('rev' in row)) throw new Error(`${_id} was refused: ${JSON.stringify(row)}`);
      if ('_deleted' in edits[i]!) revs.delete(_id);
      else revs.set(_id, row.rev!);
    }
    say(`a ${mine} ${answers.map((row) => row.rev).join(' ')}`);
    if (writer === 0 && step % 60 === 59) await db.compact();
    // A look in between, by which the index follows.
    if (writer === 1 && step % 25 === 24) await db.find({ selector: { n: { $gt: mine - 5 } } });
  }
}

const db = new SettleDB(folder, { durability: durability === 'strict' ? 'strict' : 'relaxed' });
await db.createIndex({ index: { fields: ['n'] } });
say(`o ${JSON.stringify(await contents(db))}`);
const feed = db.changes({ since: Number(since), live: true });
const follow = async (): Promise<void> => {
  for await (const { seq, id, changes } of feed) say(`s ${seq} ${id} ${changes[0]!.rev}`);
};
await Promise.all([follow(), ...Array.from({ length: WRITERS }, (_, writer) => write(db, writer))]);
