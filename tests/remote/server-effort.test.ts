/** How much a user's selector may ask of one document, which is tested in one go: all others wait meanwhile. */
import { expect, it } from 'vitest';
import { noise } from '../conformance/database/attachment-bytes';
import { testServer } from './support';

const admin = { authorization: `Basic ${btoa('admin:secret')}` };
const some = <T>(count: number, make: (n: number) => T) => Array.from({ length: count }, (_, n) => make(n));

async function open(docs: readonly object[]) {
  const server = testServer({ anonymous: false, admins: { admin: 'secret' } });
  await server.ask('PUT', '/db', undefined, admin);
  const nobody = { names: [], roles: [] };
  await server.ask(
    'PUT',
    '/db/_security',
    { members: nobody, admins: { names: [], roles: ['_admin'] } },
    admin,
  );
  await server.ask('POST', '/db/_bulk_docs', { docs }, admin);
  return server;
}

/** Letters in which no two stretches are the same, so that a pattern meets ever new situations. */
const text = Array.from(noise(100_000), (byte) => (byte & 16 ? 'a' : 'b')).join('');
const list = some(20_000, (n) => n);
const longer = some(100_000, (n) => n);
const object = Object.fromEntries(some(5_000, (n) => [`k${n}`, n]));
const inner = some(2_000, (n) => [n]);
const texts = some(10, () => 'x'.repeat(100_000));

/** One of them is enough, and none holds. */
const any = (count: number, make: (n: number) => object) => ({ $or: some(count, make) });

const cases: [string, object, object][] = [
  [
    'conditions on elements',
    { list: longer },
    any(240, (n) => ({ list: { $allMatch: { $gte: -n } }, no: 1 })),
  ],
  ['a group of them', { list: longer }, { list: { $elemMatch: any(498, (n) => ({ $lt: -n })) } }],
  ['lists compared', { list }, any(200, (n) => ({ $and: [any(2, (k) => ({ list: [n, k] }))] }))],
  ['lists looked for', { list: [list, inner] }, any(200, (n) => ({ list: { $in: [[[n]]] } }))],
  ['objects compared', { object }, any(300, (n) => ({ object: { $lt: { a: n } } }))],
  ['objects compared within lists', { list: [object] }, any(300, (n) => ({ list: [{ a: n }], b: 1 }))],
  ['names of objects', { object }, any(240, (n) => ({ object: { $keyMapMatch: { $eq: `a${n}` } } }))],
  ['texts within lists', { list: texts }, any(30, (n) => ({ $and: [any(2, (k) => ({ list: [n, k] }))] }))],
];

it.each(cases)('%s: a user is refused', async (_, doc, selector) => {
  const server = await open([{ _id: 'x', ...doc }]);
  await expectRefused(server, selector);
  expect((await server.ask('POST', '/db/_find', { selector: { _id: 'y', ...selector } })).status).toBe(200);
});

it('an administrator is not refused', async () => {
  const [, doc, selector] = cases.find(([name]) => name === 'objects compared')!;
  const server = await open([{ _id: 'x', ...doc }]);
  expect((await server.ask('POST', '/db/_find', { selector }, admin)).status).toBe(200);
  const changes = await server.ask('POST', '/db/_changes?filter=_selector', { selector }, admin);
  expect([changes.status, changes.body.last_seq]).toEqual([200, '1']);
});

it('a pattern made for a text is given up', async () => {
  const server = await open([{ _id: 'x', text }]);
  await expectRefused(server, { text: { $regex: '(.|a)*a.{480}$' } });
});

async function expectRefused(server: Awaited<ReturnType<typeof open>>, selector: object) {
  for (const path of ['/db/_find', '/db/_changes?filter=_selector']) {
    const { status, body } = await server.ask('POST', path, { selector });
    const reason = expect.stringContaining('too much of the document "x"');
    expect([path, status, body.reason]).toEqual([path, 400, reason]);
  }
}

it('the bound is that of each document, not of all together', async () => {
  const server = await open(some(60, (n) => ({ list: some(5_000, (k) => k), n })));
  const selector = { $nor: some(100, (n) => ({ list: { $elemMatch: { $lt: -n } } })) };
  const found = await server.ask('POST', '/db/_find', { selector, limit: 100, fields: ['n'] });
  expect([found.status, found.body.docs?.length]).toEqual([200, 60]);
});

it('what asks little of a large document is answered', async () => {
  const server = await open([{ _id: 'x', list, object, text, lists: inner }]);
  for (const selector of [
    { $and: some(1_000, (n) => ({ list: { $exists: true, $type: 'array', $not: { $size: n } } })) },
    { $nor: some(1_000, (n) => ({ list: -n - 1, object: n, text: `${n}` })) },
    { $and: some(1_000, (n) => ({ $or: [{ list: n }, { object: n }, { _id: 'x' }] })) },
    { list: { $all: some(1_000, (n) => n), $elemMatch: { $mod: [7, 3] } }, 'object.k7': 7 },
    { $and: some(20, () => ({ text: { $regex: 'ab+a' } })), lists: { $in: [[5]] } },
  ]) {
    const { status, body } = await server.ask('POST', '/db/_find', { selector, fields: ['_id'] });
    expect([status, body.docs]).toEqual([200, [{ _id: 'x' }]]);
  }
});
