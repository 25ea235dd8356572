/** That many handles and many feeds make Node warn of nothing: neither of leaking listeners nor of anything else (contract §1). */
import { memory } from '@settledb/adapter-memory';
import { remote } from '@settledb/remote';
import { expect, it } from 'vitest';
import { SettleDB } from '../packages/settledb/src/settledb';
import { withoutStreams } from '../packages/worker/src/streams';
import { Listening, numbered } from './conformance/database/expectations';
import { hostAndPage } from './worker/support';

/** Twice over the ten listeners at which Node warns, and the number contract §1 names. */
const MANY = 50;

async function warningsOf(act: () => Promise<void>): Promise<string[]> {
  const warnings: string[] = [];
  const heard = (warning: Error): void => {
    warnings.push(`${warning.name}: ${warning.message}`);
  };
  process.on('warning', heard);
  try {
    await act();
    // Warnings are emitted on the next tick of the process, which ends before an immediate.
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.off('warning', heard);
  }
  return warnings;
}

it(`does not warn of ${MANY} handles on one name, opened and closed`, async () => {
  const adapter = memory();
  const warnings = await warningsOf(async () => {
    const handles = numbered(MANY).map(() => new SettleDB('warnings-handles', { adapter }));
    await Promise.all(handles.map((db) => db.info()));
    await handles[0]!.put({ _id: 'a' });
    await Promise.all(handles.map((db) => db.close()));
  });
  expect(warnings).toEqual([]);
});

it(`does not warn of ${MANY} live feeds on one handle`, async () => {
  const db = new SettleDB('warnings-feeds', { adapter: memory() });
  const warnings = await warningsOf(async () => {
    const feeds = numbered(MANY).map(() => new Listening(db.changes({ live: true })));
    await db.put({ _id: 'a' });
    await Promise.all(feeds.map((feed) => feed.heardOf('a')));
    for (const { feed } of feeds) feed.cancel();
    await Promise.all(feeds.map(({ ended }) => ended));
    await db.destroy();
  });
  expect(warnings).toEqual([]);
});

it(`does not warn of ${MANY} remote calls with one signal, before the connection stands and after`, async () => {
  const { signal } = new AbortController();
  const db = remote('http://warnings.test/db', {
    fetch: async () => Response.json({ db_name: 'db', doc_count: 0, update_seq: 0, rows: [], total_rows: 0 }),
  });
  const ask = () => Promise.all(numbered(MANY).map(() => db.info({ signal })));
  const warnings = await warningsOf(async () => {
    await ask();
    await ask();
  });
  expect(warnings).toEqual([]);
});

it(`does not warn of ${MANY} calls of a worker with one signal, nor of streams read for one`, async () => {
  const { Hosted } = hostAndPage();
  const db = new Hosted('warnings-hosted');
  const { signal } = new AbortController();
  const warnings = await warningsOf(async () => {
    await Promise.all(numbered(MANY).map(() => db.info({ signal })));
    await Promise.all(numbered(MANY).map(() => withoutStreams([new Blob(['a']).stream()], [signal])));
  });
  expect(warnings).toEqual([]);
});
