/** Dumps of remote databases, and into them: over real HTTP, from our server and from express-pouchdb. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { createServer } from '../../packages/settledb/src/server';
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

describe('express-pouchdb', () => {
  let url = '';
  beforeAll(async () => {
    const server = await startExpressPouchDB(folder);
    cleanUp.push(() => server.close());
    url = server.url;
  });
  dumpSuite('express-pouchdb', { make: at(() => url), local: false, fill: fillAtRandom });
});
