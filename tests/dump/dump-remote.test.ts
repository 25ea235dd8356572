/** Dumps of remote databases, and into them: over real HTTP, from our server and from express-pouchdb. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { createServer } from '../../packages/settledb/src/server';
import { type Db, fillAtRandom } from './content';
import { dumpSuite } from './suite';

// biome-ignore lint/suspicious/noExplicitAny: neither comes with types
type Any = any;

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
    const [pouchdb, express, middleware] = ['pouchdb', 'express', 'express-pouchdb'];
    const PouchDB = ((await import(pouchdb!)) as Any).default;
    const { default: makeApp } = (await import(express!)) as Any;
    const { default: makePouch } = (await import(middleware!)) as Any;
    const app = makeApp();
    const options = { inMemoryConfig: true, logPath: join(folder, 'express.log') };
    app.use('/', makePouch(PouchDB.defaults({ prefix: `${folder}/` }), options));
    const server = createHttpServer(app);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    cleanUp.push(
      () =>
        new Promise((resolve) => {
          server.closeAllConnections();
          server.close(resolve);
        }),
    );
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  dumpSuite('express-pouchdb', { make: at(() => url), local: false, fill: fillAtRandom });
});
