/** Dumps of sound checksums that no program of ours wrote. */
import { describe, expect, it } from 'vitest';
import { Chain } from '../../packages/dump/src/format';
import { make, utf8 } from './content';

const HEADER = { settledb: 'dump', version: 1, uuid: 'u', seq: 1, doc_count: 1 };
const END = { end: true, docs: 1, seq: 1 };
const STUB = {
  content_type: 'x/y',
  digest: 'md5-SfaKXIST7CwL9ImCHCH8Ow==',
  length: 2,
  revpos: 1,
  stub: true,
};
const DOC = { _id: 'a', _rev: `1-${'a'.repeat(32)}`, _attachments: { f: STUB } };
const DATA = { data: 'aGk=' };

/** Each section with its sum. */
function sealed(...sections: readonly object[][]): Uint8Array {
  const chain = new Chain();
  const lines = sections.map((section) => {
    const text = section.map((line) => `${JSON.stringify(line)}\n`).join('');
    chain.add(text);
    return `${text}${JSON.stringify({ sum: chain.sum() })}\n`;
  });
  return utf8(lines.join(''));
}

describe('a line of another form is refused as damage, whatever its checksum', () => {
  it.each([
    ['twice the same name', ['f', 'f']],
    ['no names', [5]],
    ['no list', 'f'],
    ['null', null],
  ])('content: %s', async (_, content) => {
    const dump = sealed([HEADER], [{ doc: DOC, content }], [DATA], [DATA], [END]);
    await expect(make().load(dump)).rejects.toMatchObject({ name: 'corrupt' });
  });

  it.each([
    { doc: null },
    { doc: 5 },
    { doc: [] },
    { doc: null, content: ['f'] },
    { local: null },
    { local: {} },
    { local: { _id: 7 } },
    { local: { _id: 'plain' } },
  ])('%j', async (line) => {
    const filled = make();
    await filled.put({ _id: 'b' });
    for (const db of [make(), filled]) {
      await expect(db.load(sealed([HEADER], [line], [END]))).rejects.toMatchObject({ name: 'corrupt' });
      await expect(db.get('plain')).rejects.toMatchObject({ status: 404 });
    }
  });

  it.each([null, 5])('data: %j', async (data) => {
    const dump = sealed([HEADER], [{ doc: DOC, content: ['f'] }], [{ data }], [END]);
    await expect(make().load(dump)).rejects.toMatchObject({ name: 'corrupt' });
  });

  it('while one of the right form is loaded', async () => {
    const dump = sealed([HEADER], [{ doc: DOC, content: ['f'] }], [DATA], [END]);
    expect(await make().load(dump)).toMatchObject({ ok: true, docs_written: 1 });
  });

  it('while one that an earlier program wrote is loaded', async () => {
    const sums = [
      '86a68f106e2d21a519f6967952d1454e',
      'd8baada772917f2d30982463eb2b0d2f',
      'e058d8851a6ab111e916e847e5ebb958',
      '75a6b02e990edbb16da575aa010249ff',
    ];
    const sections = [HEADER, { doc: DOC, content: ['f'] }, DATA, END];
    const lines = sections.flatMap((line, i) => [line, { sum: sums[i] }]);
    const dump = utf8(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    expect(await make().load(dump)).toMatchObject({ ok: true, docs_written: 1 });
  });
});

it('what has no line end is no dump, however long it is: its beginning is read, no more', async () => {
  let pulled = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      pulled++;
      controller.enqueue(utf8('x'.repeat(10_000)));
    },
  });
  await expect(make().load(endless)).rejects.toMatchObject({ status: 400 });
  expect(pulled).toBeLessThan(20);
  expect(await make().load(utf8('\n [{"_id":"a"}]'))).toMatchObject({ ok: true, docs_written: 1 });
});

it.each([
  ['of other bytes', STUB, { data: 'aGo=' }],
  ['of another length', { ...STUB, length: 3 }, DATA],
  ['not encoded as its document says', { ...STUB, encoding: 'gzip', encoded_length: 2 }, DATA],
])('content %s is refused with its document, and the others are loaded', async (_, f, data) => {
  const doc = { ...DOC, _attachments: { f } };
  const other = { doc: { _id: 'b', _rev: DOC._rev } };
  const db = make();
  const end = { ...END, docs: 2 };
  const dump = sealed([HEADER], [{ doc, content: ['f'] }], [data], [other], [end]);
  const { docs_written, errors } = await db.load(dump);
  expect([docs_written, errors.map(({ id, status }) => `${id} ${status}`)]).toEqual([1, ['a 400']]);
  expect((await db.allDocs()).rows.map(({ id }) => id)).toEqual(['b']);
});
