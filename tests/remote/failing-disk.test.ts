/**
 * Requests to a server whose disk, in memory, fails once: at each of its calls in turn, of which every 61st is tried (`EVERY=1`: all). An
 * answer is right, or an error in CouchDB's form, or breaks off; who asks again is served; what was acknowledged is there, and no file stays
 * open.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { expect, it, onTestFinished } from 'vitest';
import { FolderDatabases } from '../../packages/settledb/src/server';
import { serverReplicator } from '../../packages/settledb/src/server-replicator';
import { Disk, failure } from '../file/disk';
import { basic, testServer } from './support';

const EVERY = Number(process.env.EVERY ?? 61);
const NAMES = ['db', 'other', '_users', '_settings'];

const content = 'x'.repeat(70_000);
const one = { names: ['one'], roles: [] };
const views = { v: { map: 'function (doc) { emit(doc.n); }' } };
const text = { 'content-type': 'x/y' };
const asOne = basic('one', 'secret');

const DONE = [200, 201, 202, 409, 412];

type Asked = [method: string, path: string, body?: unknown, headers?: Record<string, string> | undefined];
const WRITES: Asked[] = [
  ['PUT', '/db'],
  ['PUT', '/other'],
  ['PUT', '/_users/org.couchdb.user:one', { name: 'one', type: 'user', roles: [], password: 'secret' }],
  ['PUT', '/db/_security', { admins: one, members: one }],
  ['PUT', '/db/a', { n: 1 }, asOne],
  ['PUT', '/db/att/f', content, text],
  [
    'POST',
    '/db/_bulk_docs',
    {
      docs: [
        { _id: 'b', n: 2 },
        { _id: 'c', n: 3, content },
      ],
    },
  ],
  ['PUT', '/db/_design/v', { views }],
  ['POST', '/db/_purge', { none: ['1-a'] }],
  ['POST', '/db/_compact', {}],
  ['POST', '/_replicate', { source: 'db', target: 'other' }],
];
const READS: [
  path: string,
  contents: (body: never) => unknown,
  expected: unknown,
  headers?: Record<string, string>,
][] = [
  ['/db/a', ({ n }: { n: number }) => n, 1, asOne],
  ['/db/att/f', (body: string) => body, content],
  ['/db/_security', (body: object) => body, { admins: one, members: one }],
  [
    '/db/_all_docs?include_docs=true&attachments=true',
    ({ total_rows }: { total_rows: number }) => total_rows,
    5,
  ],
  ['/db/_changes?include_docs=true', ({ results }: { results: unknown[] }) => results.length, 5],
  [
    '/db/_design/v/_view/v',
    ({ rows }: { rows: { key: unknown }[] }) => rows.map(({ key }) => key),
    [null, 1, 2, 3],
  ],
  ['/other/c', (body: { content: string }) => body.content, content],
];

/** @param nth call of the disk that fails @returns how many calls there were */
async function run(dir: string, nth: number): Promise<number> {
  for (const name of NAMES) await mkdir(join(dir, name), { recursive: true });
  const disk = new Disk();
  let calls = 0;
  disk.fail = () => {
    if (++calls === nth) throw failure('EIO');
    return undefined;
  };
  const databases = new FolderDatabases(dir, {
    adapter: file({ files: disk }),
    max_dbs_open: 1,
    durability: 'strict',
  });
  const server = testServer({
    databases: databases as never,
    anonymous: false,
    admins: { me: 'secret' },
    passwordIterations: 1,
    runStoredFunctions: true,
    replicator: serverReplicator([]),
    logger: {},
  });
  const ask = async ([method, path, body, headers]: Asked) => {
    const answer = await server
      .ask(method, path, body, { ...basic('me', 'secret'), ...headers })
      .catch(() => undefined); // It broke off.
    if (answer === undefined || answer.status < 400) return answer;
    const what = `${nth} ${method} ${path} ${answer.status}`;
    expect([what, answer.body]).toEqual([what, { error: expect.any(String), reason: expect.any(String) }]);
    expect(JSON.stringify(answer.body)).not.toContain(dir);
    return answer;
  };
  /** Asks once more if it failed: what it is about may be done by then. */
  const again = async (asked: Asked) => {
    const first = await ask(asked);
    const last = first === undefined || first.status >= 500 ? await ask(asked) : first;
    return [nth, asked[1], last?.status, last?.body] as const;
  };
  for (const asked of WRITES) expect(DONE).toContain((await again(asked))[2]);
  for (const [path, contents, expected, headers] of READS) {
    const [, , status, body] = await again(['GET', path, undefined, headers]);
    expect([nth, path, status === 200 ? contents(body as never) : body]).toEqual([nth, path, expected]);
  }
  expect([200, 404]).toContain((await again(['DELETE', '/other']))[2]);
  server.close();
  await databases.close();
  expect([nth, disk.openFiles]).toEqual([nth, 0]);
  return calls;
}

it('a server outlives each failure of its disk', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'settledb-failing-'));
  onTestFinished(() => rm(dir, { recursive: true }));
  const calls = await run(dir, 0);
  for (let nth = 1; nth <= calls; nth += EVERY) await run(dir, nth);
});
