/** Dumps of remote databases, and into them: over real HTTP, from our server and from express-pouchdb. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memory } from '@settledb/adapter-memory';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { createServer } from '../../packages/settledb/src/server';
import { ORIGIN, testServer } from '../remote/support';
import { startExpressPouchDB } from '../support/express-pouchdb';
import { type Db, fillAtRandom } from './content';
import { dumpSuite } from './suite';

const folder = mkdtempSync(join(tmpdir(), 'settledb-dump-remote-'));
const cleanUp: (() => unknown)[] = [];
afterAll(async () => {
  for (const undo of cleanUp.reverse()) await undo();
  rmSync(folder, { recursive: true, force: true });
});
let count = 0;
const at = (url: () => string) => async (): Promise<Db> => new SettleDB(`${url()}/dump_${count++}`);

describe('our server', () => {
  let url = '';
  beforeAll(async () => {
    const server = await createServer({ dir: join(folder, 'ours'), port: 0, anonymous: true });
    cleanUp.push(() => server.close());
    url = server.url;
  });
  dumpSuite('our server', { make: at(() => url), local: false });
});

it('asks for the changes of a remote database in pages', async () => {
  const { fetch, log } = testServer();
  const far = new SettleDB(`${ORIGIN}/paged`, { fetch });
  await far.bulkDocs(Array.from({ length: 2_500 }, (_, i) => ({ _id: `d${i}` })));
  log.length = 0;
  const near = new SettleDB(`paged-${count++}`, { adapter: memory() });
  expect(await near.load(far.dump())).toMatchObject({ docs_written: 2_500 });
  const pages = log.filter((line) => line.includes('/_changes'));
  expect(pages.length).toBeGreaterThan(1);
  for (const page of pages) expect(page).toContain('limit=1000');
});

describe('express-pouchdb', () => {
  let url = '';
  beforeAll(async () => {
    const server = await startExpressPouchDB(folder);
    cleanUp.push(() => server.close());
    url = server.url;
  });
  dumpSuite('express-pouchdb', { make: at(() => url), local: false, fill: fillAtRandom });
});
