/** `_local` documents of a database with damage in its files: those of the program arrive, or are named; those about the database stay. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseError } from '@settledb/core';
import { beforeAll, describe, expect, it } from 'vitest';
import { KIND_REWRITE } from '../../packages/log/src/frame';
import { FRAME_HEADER_BYTES } from '../../packages/log/src/frame-layout';
import { HEADER_BYTES } from '../../packages/log/src/header';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { type Recovered, type RecoverTarget, recover, verify } from '../../packages/settledb/src/file';
import { memory } from '../../packages/settledb/src/memory';
import { copyOf, home, logName } from '../file/support';

type Locals = Map<string, string>;
type Local = { text?: string; _attachments?: object };

const folder = join(home(), 'source');
/** The program's, as they are, and as they ever were. */
let now: Locals;
const ever = new Set<string>();
let bytes: Buffer;

const id = (n: number): string => `_local/setting ${String(n).padStart(3, '0')}`;
const CHECKPOINT = { session_id: 'a', history: [{ session_id: 'a', recorded_seq: 9 }], text: 'checkpoint' };
/** Those that no other database has any use for. */
const STAY = ['_local/a-checkpoint', '_local/compaction', '_local/snapshot', '_local/settledb.load.x 1-a'];

const list = async (db: SettleDB<Local>): Promise<Locals> => {
  const found: Locals = new Map();
  for (const _id of [...Array.from({ length: 600 }, (_, n) => id(n)), '_local/with', ...STAY]) {
    const doc = await db.get(_id, { attachments: true }).catch(() => undefined);
    if (doc !== undefined) found.set(_id, JSON.stringify({ ...doc, _rev: undefined }));
  }
  return found;
};

beforeAll(async () => {
  const db = new SettleDB<Local>(folder);
  await db.put({ _id: 'a document', text: 'with a seq' });
  await db.bulkDocs(Array.from({ length: 600 }, (_, n) => ({ _id: id(n), text: `${n} `.repeat(40) })));
  for (const _id of STAY) await db.put({ _id, ...CHECKPOINT });
  const small = { content_type: 'text/plain', data: btoa('small') };
  await db.put({ _id: '_local/with', _attachments: { small } });
  for (const doc of (await list(db)).values()) ever.add(doc);
  await db.compact();
  for (const n of [7, 300, 599]) await db.put({ ...(await db.get(id(n))), text: 'edited' });
  await db.remove(id(8), (await db.get(id(8)))._rev);
  now = await list(db);
  for (const doc of now.values()) ever.add(doc);
  for (const each of STAY) now.delete(each);
  await db.close();
  bytes = readFileSync(logName(folder));
});

/** Recovers into memory: what is there is as it was, and what is not is named. */
async function check(path: string): Promise<Recovered & { found: Locals; isOlder: boolean }> {
  const to = new SettleDB<Local>('to', { adapter: memory() });
  const recovered = await recover(path, to);
  const found = await list(to);
  await to.close();
  const { lost, damage } = recovered;
  const isOlder = lost.commits > 0 || damage.some(({ isLast }) => isLast);
  for (const [_id, doc] of found) {
    expect(STAY).not.toContain(_id);
    if (isOlder) expect(ever, _id).toContain(doc);
    else expect(doc, _id).toBe(now.get(_id));
  }
  for (const _id of now.keys()) {
    if (found.has(_id) || isOlder) continue;
    const isNamed = lost.revisions.some((each) => each.id === _id);
    const isInRange = lost.ranges.some(({ from = '', to = '\uffff' }) => _id >= from && _id < to);
    expect(isNamed || isInRange, `${_id} is not named: ${JSON.stringify(lost)}`).toBe(true);
  }
  return { ...recovered, found, isOlder };
}

describe('_local documents', () => {
  it('of a sound database arrive, but for those about the database itself', async () => {
    const { ok, docs, found } = await check(folder);
    expect([ok, docs]).toEqual([true, 1]);
    expect(found).toEqual(now);
    expect(found.has(id(8))).toBe(false);
  });

  it('arrive or are named, whichever frame has a bit turned', async () => {
    const copy = copyOf(folder);
    const seen = { whole: 0, named: 0, ranges: 0 };
    for (let at = HEADER_BYTES; at < bytes.length; ) {
      const length = FRAME_HEADER_BYTES + bytes.readUInt32LE(at + 8);
      const damaged = Buffer.from(bytes);
      damaged[at + (length >> 1)]! ^= 1;
      writeFileSync(logName(copy), damaged);
      const { ok, lost, found, isOlder } = await check(copy);
      if (found.size === now.size) seen.whole++;
      else if (!isOlder) expect(ok, `byte ${at}`).toBe(false);
      if (lost.revisions.length > 0) seen.named++;
      if (lost.ranges.length > 0) seen.ranges++;
      at += length;
    }
    for (const count of Object.values(seen)) expect(count, JSON.stringify(seen)).toBeGreaterThan(0);
  });

  it('are found on the pages there are, if the lists of them are lost', async () => {
    const copy = copyOf(folder);
    const log = Buffer.from(bytes);
    for (let at = HEADER_BYTES; at < log.length; at += FRAME_HEADER_BYTES + log.readUInt32LE(at + 8))
      if (log[at + 12] === KIND_REWRITE) log[at + FRAME_HEADER_BYTES + 1]! ^= 1;
    writeFileSync(logName(copy), log);
    const { lost, found } = await check(copy);
    expect(lost).toEqual({ revisions: [], ranges: [], commits: 0, directory: true });
    expect(found).toEqual(now);
  });

  it('that a server refuses are named', async () => {
    const to = new SettleDB('to', { adapter: memory() });
    const refusing: RecoverTarget = {
      info: () => to.info(),
      async bulkDocs(docs, options) {
        if ((docs as { _id: string }[])[0]?._id === id(3))
          throw new DatabaseError({ status: 413, name: 'too_large', reason: 'for here' });
        return to.bulkDocs(docs, options);
      },
    };
    const { lost } = await recover(folder, refusing);
    expect(lost.revisions).toEqual([{ id: id(3), reason: 'too_large: for here' }]);
    const found = await list(to as SettleDB<object> as SettleDB<Local>);
    await to.close();
    expect(found).toEqual(new Map([...now].filter(([each]) => each !== id(3))));
  });

  it('that are damaged are told by verify', async () => {
    const copy = copyOf(folder);
    const log = Buffer.from(bytes);
    const text = Buffer.from(`${'450 '.repeat(10)}`);
    let isTurned = false;
    for (let at = log.indexOf(text); at >= 0; at = log.indexOf(text, at + 1)) {
      log[at]! ^= 1;
      isTurned = true;
    }
    expect(isTurned).toBe(true);
    writeFileSync(logName(copy), log);
    expect((await verify(folder)).ok).toBe(true);
    const { ok, lost } = await verify(copy);
    expect(ok).toBe(false);
    expect(lost.revisions.map((each) => each.id)).toContain(id(450));
  });
});
