/** express-pouchdb on loopback, and any other Express application: peers that speak the protocol and are not ours. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

// biome-ignore lint/suspicious/noExplicitAny: none of them comes with types
type Any = any;

export interface Serving {
  /** Without a slash at the end. */
  readonly url: string;
  close(): Promise<void>;
}

/** By a name in a variable: the packages have no types. */
export async function importUntyped(name: string): Promise<Any> {
  return ((await import(name)) as Any).default;
}

export async function serveOn(app: RequestListener): Promise<Serving> {
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** @param folder for its databases and its log */
export async function startExpressPouchDB(folder: string): Promise<Serving> {
  const PouchDB = await importUntyped('pouchdb');
  const app = (await importUntyped('express'))();
  const options = { inMemoryConfig: true, logPath: join(folder, 'express.log') };
  app.use('/', (await importUntyped('express-pouchdb'))(PouchDB.defaults({ prefix: `${folder}/` }), options));
  return serveOn(app);
}
