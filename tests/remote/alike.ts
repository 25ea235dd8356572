/** The same documents in three places, and what is answered of them: by a database here, one in a worker and one behind a URL. */
import { memory } from '@settledb/adapter-memory';
import { expect, onTestFinished } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { evaluate } from '../../packages/settledb/src/eval';
import { contextOf } from '../../packages/settledb/src/hosting';
import { hostAndPage } from '../worker/support';
import { DESIGN, ORIGIN, testServer } from './support';

// biome-ignore lint/suspicious/noExplicitAny: what types would not let through is what this is about
export type Any = any;
type Call = readonly [verb: string, ...args: readonly unknown[]];

/** The same documents in three places. */
export async function places(): Promise<readonly Any[]> {
  const server = testServer({ runStoredFunctions: true });
  const Base = SettleDB.defaults({ adapter: memory(), evaluate });
  const { Hosted } = hostAndPage({}, {}, contextOf(Base as never));
  const all: Any[] = [
    new Base('db'),
    new Hosted('hosted'),
    new SettleDB(`${ORIGIN}/db`, { fetch: server.fetch }),
  ];
  onTestFinished(async () => {
    for (const db of all) await db.close();
  });
  for (const db of all) {
    await db.bulkDocs([...['a', 'b', 'c'].map((_id, n) => ({ _id, n })), DESIGN]);
    await db.putAttachment('w', 'x.txt', 'aGVsbG8=', 'text/plain');
    await db.put({ _id: '_local/l' });
    await db.createIndex({ fields: ['n'], ddoc: 'idx', name: 'n' });
  }
  return all;
}

/** The answer as JSON; or of an error everything that a program may look at. */
export async function answerOf(db: Any, [verb, ...args]: Call): Promise<unknown> {
  try {
    return JSON.parse(JSON.stringify((await db[verb](...args)) ?? null));
  } catch (error) {
    const { status, name, reason, docId, index } = error as Any;
    return status === undefined ? String(error) : { status, name, reason, docId, index };
  }
}

/** @returns what is answered in all places */
export async function alike(dbs: readonly Any[], call: Call): Promise<unknown> {
  const [here, hosted, remote] = await Promise.all(dbs.map((db) => answerOf(db, call)));
  expect({ call, hosted, remote }).toEqual({ call, hosted: here, remote: here });
  return here;
}
