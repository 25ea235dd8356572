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
import { bytesOf, contentsOf, type Db, fillAtRandom } from './content';
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
  dumpSuite('our server', { make: at(() => url), local: false, seeds: 2 });

  it('takes content that came with a document of which it knows only the name', async () => {
    const near = new SettleDB(`shared-${count++}`, { adapter: memory() });
    const far = await at(() => url)();
    const put = async (id: string): Promise<void> => {
      for (const size of [700, 200_000]) {
        const _attachments = { f: { content_type: 'x/y', data: bytesOf(size, size) } };
        await near.bulkDocs([{ _id: `${id}${size}`, _attachments }] as never);
      }
    };
    await put('a');
    await near.replicate.to(far);
    for (const { id, value } of (await far.allDocs()).rows) await far.put({ _id: id, _rev: value.rev });
    await put('b');
    await far.compact();
    expect(await far.load(near.dump())).toMatchObject({ ok: true, docs_written: 2, errors: [] });
    for (const size of [700, 200_000])
      expect(
        Buffer.from((await far.getAttachment(`b${size}`, 'f')) as Uint8Array).equals(bytesOf(size, size)),
      ).toBe(true);
  });
});

it('is loaded into a server that refuses the first document with some content, without harm to the others', async () => {
  const near = new SettleDB(`refused-${count++}`, { adapter: memory() });
  for (const _id of ['a', 'b', 'c'])
    for (const size of [700, 200_000]) {
      const _attachments = { f: { content_type: 'x/y', data: bytesOf(size, size) } };
      await near.bulkDocs([{ _id: `${_id}${size}`, _attachments }] as never);
    }
  const { fetch } = testServer({ runStoredFunctions: true });
  const far = new SettleDB(`${ORIGIN}/refuses`, { fetch });
  const validate_doc_update = `function (doc) { if (doc._id[0] === 'a') throw { forbidden: 'no' } }`;
  await far.put({ _id: '_design/v', validate_doc_update } as never);
  const { docs_written, errors } = await far.load(near.dump());
  expect([docs_written, errors.map(({ id, name }) => `${id} ${name}`)]).toEqual([
    4,
    ['a700 forbidden', 'a200000 forbidden'],
  ]);
  await far.remove(await far.get('_design/v'));
  const [there, here] = [await contentsOf(far), await contentsOf(near)];
  for (const id of ['b700', 'b200000', 'c700', 'c200000']) expect(there.get(id)).toEqual(here.get(id));
});

it('is loaded into a server that has every request sent again with other credentials', async () => {
  const admins = { me: 'a long password' };
  const server = await createServer({ dir: join(folder, 'again'), port: 0, admins });
  cleanUp.push(() => server.close());
  const headers = (again?: boolean) => ({
    authorization: `Basic ${btoa(`me:${again === true ? admins.me : 'wrong'}`)}`,
  });
  const far = new SettleDB(`${server.url}/again`, { headers });
  const near = new SettleDB(`again-${count++}`, { adapter: memory() });
  await near.put({ _id: 'a' });
  await near.putAttachment('a', 'f', (await near.get('a'))._rev, bytesOf(1_500_000, 1) as never, 'x/y');
  expect(await far.load(near.dump())).toMatchObject({ ok: true, docs_written: 1, errors: [] });
  expect(await contentsOf(far)).toEqual(await contentsOf(near));
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
  dumpSuite('express-pouchdb', { make: at(() => url), local: false, fill: fillAtRandom, seeds: 2 });
});
