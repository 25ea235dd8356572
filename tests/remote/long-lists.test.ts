/** Lists longer than what is read at a time: the same rows as in one read, and never more than a portion in memory. */
import { describe, expect, it, vi } from 'vitest';
import { mulberry32 } from '../support/slow-adapter';
import { ORIGIN, testServer } from './support';

const SEED = 42;
/** More than two portions, with documents and without. */
const COUNT = 21_000;

async function serverWith(docs: readonly object[]) {
  const server = testServer();
  await server.ask('PUT', '/db');
  const database = (await server.databases.open('db'))!;
  await database.bulkDocs(docs as never);
  return { server, database };
}

const idOf = (n: number): string => `${n % 7 === 0 ? 'é' : n % 5 === 0 ? 'b"\u0000' : 'a'}${n}`;

const urlOf = (options: object): string =>
  `/db/_all_docs?${Object.entries(options)
    .map(([name, value]) => `${name}=${encodeURIComponent(JSON.stringify(value))}`)
    .join('&')}`;

describe('a long list', () => {
  it(`has the rows of one read, whatever is asked (seed ${SEED})`, async () => {
    const docs = Array.from({ length: COUNT }, (_, n) => ({ _id: idOf(n), n, _deleted: n % 11 === 0 }));
    const { server, database } = await serverWith(docs);
    const random = mulberry32(SEED);
    const maybe = (part: number, option: object): object => (random() < part ? option : {});
    for (let round = 0; round < 40; round++) {
      const [one, other] = [idOf(Math.floor(random() * COUNT)), idOf(Math.floor(random() * COUNT))].sort();
      const descending = random() < 0.5;
      const [startkey, endkey] = descending ? [other, one] : [one, other];
      const options = {
        ...maybe(0.7, { include_docs: true }),
        ...maybe(0.3, { conflicts: true }),
        ...maybe(0.3, { update_seq: true }),
        ...maybe(0.5, { skip: Math.floor(random() * 3_000) }),
        ...maybe(0.5, { limit: Math.floor(random() * 3_000) }),
        ...(random() < 0.1
          ? { key: one }
          : {
              ...maybe(0.4, { startkey }),
              ...maybe(0.4, { endkey }),
              ...maybe(0.3, { inclusive_end: false }),
            }),
        ...(descending ? { descending } : {}),
      };
      const { update_seq, ...expected } = await database.allDocs(options as never);
      const { body } = await server.ask('GET', urlOf(options));
      expect(body, JSON.stringify(options)).toEqual({
        ...expected,
        ...(update_seq === undefined ? {} : { update_seq: String(update_seq) }),
      });
    }
  });

  it('goes on where a row was that is gone, in either direction', async () => {
    for (const descending of [false, true]) {
      const docs = Array.from({ length: 1_500 }, (_, n) => ({ _id: String(n).padStart(4, '0') }));
      const { server, database } = await serverWith(docs);
      const { allDocs } = database;
      const seen: string[] = [];
      vi.spyOn(database, 'allDocs').mockImplementation(async (options) => {
        const answer = await allDocs.call(database, options);
        const last = answer.rows.at(-1);
        if (last !== undefined && 'value' in last) {
          seen.push(last.id);
          const gone = { _id: last.id, _rev: last.value.rev, _deleted: true };
          await database.bulkDocs([gone] as never);
        }
        return answer;
      });
      const { body } = await server.ask('GET', `/db/_all_docs?include_docs=true&descending=${descending}`);
      const ids = body.rows.map(({ id }: { id: string }) => id);
      // The last row of the sample is gone before the whole is read.
      const expected = docs.map(({ _id }) => _id).filter((id) => id !== seen[0]);
      expect(ids).toEqual(descending ? expected.reverse() : expected);
    }
  });

  it.each([
    // One fits into a portion, but fewer than these are never read; one portion is read ahead at most.
    ['of large documents is read as it is taken', 600_000, [32, 32]],
    // 64 fit into a portion: whoever does not read has no more than a megabyte held.
    ['of documents of some KB is read a megabyte at a time', 16_000, [32, 64]],
    ['of small documents is read at once, after a few of them', 1, [32, 1_000]],
  ])('%s', async (_, length, limits) => {
    const text = 'x'.repeat(length);
    const { server, database } = await serverWith(
      Array.from({ length: 200 }, (_doc, n) => ({ _id: `${n}`, text })),
    );
    const reads = vi.spyOn(database, 'allDocs');
    const answer = await server.fetch(`${ORIGIN}/db/_all_docs?include_docs=true`);
    await answer.body!.getReader().read();
    expect(limits.slice(0, reads.mock.calls.length)).toEqual(reads.mock.calls.map(([each]) => each!.limit));
  });
});
