/** How many conditions on the elements of lists a server takes from whom. */
import { expect, it } from 'vitest';
import { testServer } from './support';

const admin = { authorization: `Basic ${btoa('admin:secret')}` };
const some = (count: number) => Array.from({ length: count }, (_, n) => n);

async function open() {
  const server = testServer({ anonymous: false, admins: { admin: 'secret' } });
  await server.ask('PUT', '/db', undefined, admin);
  const nobody = { names: [], roles: [] };
  await server.ask('PUT', '/db/_security', { members: nobody, admins: nobody }, admin);
  await server.ask('PUT', '/db/x', { l: [{ a: 1 }], o: { k: 1 } }, admin);
  return server;
}

it.each([
  ['$elemMatch', { l: { $elemMatch: { $or: some(500).map((a) => ({ a })) } } }],
  ['$allMatch', { l: { $allMatch: { $nor: some(500).map((n) => ({ a: -n })) } } }],
  ['$keyMapMatch', { o: { $keyMapMatch: { $and: some(500).map((n) => ({ $ne: `${n}` })) } } }],
  ['fields of elements', { l: { $elemMatch: Object.fromEntries(some(501).map((n) => [`f${n}`, n])) } }],
  ['many on a list', { $or: some(251).map((a) => ({ l: { $elemMatch: { a } } })) }],
  ['many sets', { $and: some(501).map((n) => ({ l: { $nin: [n] } })) }],
])('more than 500 are refused to users: %s', async (_, selector) => {
  const server = await open();
  for (const path of ['/db/_find', '/db/_explain', '/db/_changes?filter=_selector']) {
    const answer = await server.ask('POST', path, { selector });
    expect([path, answer.status, answer.body.error]).toEqual([path, 400, 'bad_request']);
    expect(answer.body.reason).toContain('500 conditions on the elements');
    expect([path, (await server.ask('POST', path, { selector }, admin)).status]).toEqual([path, 200]);
  }
});

it('any number of values in a set are one, and conditions on documents are not counted', async () => {
  const server = await open();
  for (const selector of [
    { l: { $elemMatch: { a: { $in: some(10_000) } } } },
    { l: { $elemMatch: { a: { $in: [1, null, ...some(501).map((n) => ({ n }))] } } } },
    { l: { $elemMatch: { $or: some(498).map((a) => ({ a })) } } },
    { $or: some(1_000).map((n) => ({ 'o.k': n })), l: { $not: { $all: some(1_000) } } },
  ]) {
    const { status, body } = await server.ask('POST', '/db/_find', { selector });
    expect([status, body.docs?.length]).toEqual([200, 1]);
  }
});
