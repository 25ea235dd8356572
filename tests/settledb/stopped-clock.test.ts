/** Unit tests of programs put a clock of their own in the place of the platform's, and do not move it on while they wait for a call. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { memory } from '../../packages/settledb/src/memory';

afterEach(() => void vi.useRealTimers());

const DOCS = 3_000;

/** What Jest replaces, unlike Vitest, if it is not told otherwise. */
const ALL = [
  ...(['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] as const),
  ...(['setImmediate', 'clearImmediate', 'Date', 'performance', 'queueMicrotask'] as const),
];

it.each(['memory', 'file'])('calls are answered while timers stand still: %s', async (kind) => {
  const home = mkdtempSync(join(tmpdir(), 'settledb-clock-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  vi.useFakeTimers({ toFake: ALL });
  const adapter = memory();
  const open = (name: string): SettleDB =>
    new SettleDB(join(home, name), kind === 'memory' ? { adapter } : {});
  // Tests set it, too; from then on calls think that they have held everybody up.
  const later = (): unknown => vi.setSystemTime(Date.now() + 1_000);
  const db = open('a');
  await db.info();
  later();
  await db.bulkDocs(Array.from({ length: DOCS }, (_, n) => ({ _id: `d${n}`, n })));
  later();
  await db.createIndex({ fields: ['n'] });
  expect((await db.find({ selector: { n: 5 } })).docs).toHaveLength(1);
  expect((await db.query((doc, emit) => emit((doc as { n?: number }).n), { limit: 2 })).rows).toHaveLength(2);
  later();
  await db.putAttachment('att', 'bytes', new Uint8Array(300_000), 'a/b');
  const feed = db.changes({ live: true, since: 'now' })[Symbol.asyncIterator]();
  const next = feed.next();
  await db.put({ _id: 'told' });
  expect(await next).toMatchObject({ value: { id: 'told' } });
  await feed.return?.();
  later();
  const copy = open('b');
  expect(await db.replicate.to(copy)).toMatchObject({ ok: true, docs_written: DOCS + 3 });
  await copy.close();
  later();
  await db.compact();
  const [same, loaded] = [open('a'), open('c')];
  expect((await loaded.load(db.dump())).ok).toBe(true);
  await loaded.close();
  const told = new Promise((resolve) => same.once('destroyed', resolve));
  await db.destroy();
  await told;
});

it('a handle on a URL tells that it is there while timers stand still', async () => {
  vi.useFakeTimers({ toFake: ALL });
  const db = new SettleDB('http://127.0.0.1:9/stopped');
  expect(await new Promise((resolve) => db.once('created', resolve))).toBe(db);
  await db.close();
});
