/** Databases in Node, and those that are reached from it, answer alike. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memory } from '@settledb/adapter-memory';
import { afterAll } from 'vitest';
import { SettleDB } from '../packages/settledb/src/entry.node';
import { evaluate } from '../packages/settledb/src/eval';
import { contextOf } from '../packages/settledb/src/hosting';
import { answersAlike } from './conformance/alike/index';
import { ORIGIN, testServer } from './remote/support';
import { hostAndPage } from './worker/support';

const folder = mkdtempSync(join(tmpdir(), 'settledb-alike-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

answersAlike('in a file', {
  Base: SettleDB,
  opener: () => (name, options) => new SettleDB(join(folder, name), options),
});

answersAlike('hosted elsewhere', {
  Base: SettleDB,
  opener() {
    const { Hosted } = hostAndPage(
      {},
      {},
      contextOf(SettleDB.defaults({ adapter: memory(), evaluate }) as never),
    );
    return (name, { evaluate: _, ...options }) => new Hosted(name, options);
  },
});

answersAlike('behind a URL', {
  Base: SettleDB,
  isRemote: true,
  own: ['pending'],
  differs: ([verb]) => verb === 'purge',
  opener() {
    const server = testServer({ runStoredFunctions: true });
    return (name) => new SettleDB(`${ORIGIN}/${name}`, { fetch: server.fetch });
  },
});
