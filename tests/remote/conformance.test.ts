/** The conformance suite for databases, over HTTP against our own server. */
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { databaseConformance, type TestDatabase } from '../conformance/database';
import { ORIGIN, testServer } from './support';

const { fetch } = testServer();

/** CouchDB knows only some names: any other is written in those. */
const urlOf = (name: string): string =>
  /^[a-z][a-z0-9_$()+/-]*$/.test(name)
    ? `${ORIGIN}/${encodeURIComponent(name)}`
    : `${ORIGIN}/x${Array.from(name, (char) => char.codePointAt(0)!.toString(16)).join('-')}`;

/** The handle under the name it was opened by, whatever the server had to call it. */
function open(name: string, options?: object): TestDatabase {
  const db = new SettleDB(urlOf(name), { fetch, ...options });
  return new Proxy(db, {
    get(_target, property) {
      if (property === 'name') return name;
      if (property === 'info') return async () => ({ ...(await db.info()), db_name: name });
      const value: unknown = Reflect.get(db, property, db);
      return typeof value === 'function' ? value.bind(db) : value;
    },
  }) as unknown as TestDatabase;
}

databaseConformance('http', open, {
  local: false,
  storedFunctions: false,
  constructorChecks: false,
  prefix: false,
  databaseOptions: false,
  compactionRecord: false,
  localAttachments: false,
  // Nobody tells a client that another one destroyed the database.
  events: false,
});
