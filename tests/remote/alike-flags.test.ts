/** Flags are not checked: what is truthy means yes, here, in a worker and behind a URL, and what is not means no. */
import { expect, it } from 'vitest';
import { type Any, answerOf, places } from './alike';

const YES = [true, 1, 'false', {}, []];
const NO = [false, 0, '', null, undefined];

/** Each reads of the document `w`, and of its first revision, with or without a flag. */
const READS: Record<string, (rev: string) => readonly [verb: string, ...args: Any[]]> = {
  latest: (rev) => ['get', 'w', { rev }],
  'latest of open_revs': (rev) => ['get', 'w', { open_revs: [rev] }],
  attachments: (rev) => ['get', 'w', { rev, binary: true }],
  binary: (rev) => ['get', 'w', { rev, attachments: true }],
  'attachments of allDocs': () => ['allDocs', { key: 'w', include_docs: true, binary: true }],
  'binary of allDocs': () => ['allDocs', { key: 'w', include_docs: true, attachments: true }],
  'attachments of changes': () => ['changes', { doc_ids: ['w'], include_docs: true, binary: true }],
  'binary of changes': () => ['changes', { doc_ids: ['w'], include_docs: true, attachments: true }],
  'attachments of bulkGet': (rev) => ['bulkGet', { docs: [{ id: 'w', rev }], binary: true }],
  'binary of bulkGet': (rev) => ['bulkGet', { docs: [{ id: 'w', rev }], attachments: true }],
  'latest of bulkGet': (rev) => ['bulkGet', { docs: [{ id: 'w', rev }] }],
  'encoded of openAttachment': () => ['openAttachment', 'zipped', 'f', {}],
  'att_encoding_info of a stub': () => ['get', 'zipped', {}],
  'att_encoding_info of data': () => ['get', 'zipped', { attachments: true }],
};

/** "hello", gzipped; `encoded` keeps it so. */
const ZIPPED = new Uint8Array(
  await new Response(new Blob(['hello']).stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer(),
);

it.each(Object.entries(READS))('%s', async (name, read) => {
  const flag = name.split(' ')[0]!;
  for (const [place, db] of (await places()).entries()) {
    const doc = await db.get('w');
    const { _rev: rev } = doc;
    await db.put({ ...doc, n: 1 });
    const attachment = { content_type: 'text/plain', data: ZIPPED, encoded: true, encoding: 'gzip' };
    if (flag === 'encoded' || flag === 'att_encoding_info')
      await db.put({ _id: 'zipped', _attachments: { f: attachment } });
    const answer = async (value: unknown): Promise<unknown> => {
      const [verb, ...given] = read(rev);
      return answerOf(db, [verb, ...given.slice(0, -1), { ...given.at(-1), [flag]: value }]);
    };
    const [yes, no] = [await answer(true), await answer(false)];
    expect([place, JSON.stringify(yes) === JSON.stringify(no)]).toEqual([place, false]);
    for (const value of YES) expect([place, value, await answer(value)]).toEqual([place, value, yes]);
    for (const value of NO) expect([place, value, await answer(value)]).toEqual([place, value, no]);
  }
});

it('force', async () => {
  for (const [place, db] of (await places()).entries()) {
    const { _rev: rev } = await db.get('a');
    const first = { _id: 'a', _rev: rev };
    await db.put({ ...first, n: 1 });
    for (const value of NO)
      await expect(db.put({ ...first, n: 2 }, { force: value })).rejects.toMatchObject({ status: 409 });
    for (const [n, value] of YES.entries())
      expect([place, value, await db.put({ ...first, n: n + 3 }, { force: value })]).toMatchObject([
        place,
        value,
        { ok: true },
      ]);
    expect((await db.get('a', { conflicts: true }))._conflicts).toHaveLength(YES.length);
  }
});
