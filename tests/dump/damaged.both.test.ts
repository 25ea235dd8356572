/** What is damaged is found before it is used. */
import { describe, expect, it } from 'vitest';
import { bytesOf, contentsOf, type Db, make, plain, utf8, whole } from './content';

/** Every leaf of `some` is one of `all`. */
async function expectPart(some: Db, all: ReadonlySet<string>): Promise<number> {
  let leaves = 0;
  for (const value of (await contentsOf(some)).values())
    for (const text of (value as { texts: string[] }).texts) {
      expect(all.has(text)).toBe(true);
      leaves++;
    }
  return leaves;
}

const leavesIn = async (db: Db): Promise<Set<string>> =>
  new Set([...(await contentsOf(db)).values()].flatMap((value) => (value as { texts: string[] }).texts));

function spliced(lines: readonly string[], at: number, count: number, ...more: string[]): string[] {
  return [...lines.slice(0, at), ...more, ...lines.slice(at + count)];
}

async function small(): Promise<Db> {
  const db = make();
  await db.put({ _id: 'a', text: 'one' });
  await db.putAttachment('b', 'f', bytesOf(100, 1) as never, 'x/y');
  await db.put({ _id: 'c', text: 'zwei ☃' });
  return db;
}

describe('a damaged dump', () => {
  it('cut off anywhere is refused; what came before is valid, and loading again goes on', async () => {
    const a = await small();
    const all = await leavesIn(a);
    for (const bytes of [await whole(a.dump({ gzip: false })), await whole(a.dump())]) {
      const b = make();
      // The last byte of plain text is the end of a line, which may be missing.
      const ends = bytes[0] === 0x1f ? bytes.length : bytes.length - 1;
      // One byte of a gzip is nothing that anybody knows.
      for (let end = 0; end < ends; end++)
        await expect(b.load(bytes.slice(0, end)), `${end}`).rejects.toMatchObject(
          bytes[0] === 0x1f && end === 1 ? { name: 'bad_request' } : { name: 'corrupt' },
        );
      await expectPart(b, all);
      expect(await b.load(bytes)).toMatchObject({ ok: true });
      expect(await contentsOf(b)).toEqual(await contentsOf(a));
    }
  });

  it('with any byte changed is refused, and nothing wrong is loaded', async () => {
    const a = await small();
    const all = await leavesIn(a);
    for (const bytes of [await whole(a.dump({ gzip: false })), await whole(a.dump())]) {
      const b = make();
      const isGzip = bytes[0] === 0x1f;
      for (let at = 0; at < bytes.length; at++) {
        // A gzip's header says when and where it was made: of no meaning.
        if (isGzip && at >= 3 && at < 10) continue;
        const wrong = bytes.slice();
        wrong[at]! ^= 1;
        await b.load(wrong).then(
          () => expect.fail(`byte ${at} of ${isGzip ? 'gzip' : 'text'}`),
          // Named: it is no accident of the platform that finds it.
          (error) => expect(error, `byte ${at}`).toHaveProperty('reason'),
        );
      }
      await expectPart(b, all);
    }
  });

  it('with lines or sections moved, missing or twice is refused', async () => {
    const a = make();
    await a.bulkDocs(Array.from({ length: 2100 }, (_, i) => ({ _id: `d${i}` })));
    const lines = (await plain(a)).split('\n').slice(0, -1);
    const sums = lines.flatMap((line, i) => (line.startsWith('{"sum"') ? [i] : []));
    const section = lines.slice(sums[0]! + 1, sums[1]! + 1);
    const variants = [
      spliced(lines, sums[0]! + 1, section.length),
      spliced(lines, sums[0]! + 1, 0, ...section),
      spliced(lines, 3, 1),
      spliced(lines, 3, 0, lines[3]!),
      [...lines, ...lines],
      lines.slice(sums[0]! + 1),
    ];
    for (const variant of variants)
      await expect(make().load(utf8(variant.join('\n')))).rejects.toMatchObject({
        status: expect.any(Number),
      });
  });

  it('of a later version is not guessed at', async () => {
    const text = (await plain(make())).replace('"version":1', '"version":2');
    await expect(make().load(utf8(text))).rejects.toMatchObject({ status: 501 });
  });

  it('fails with what its stream fails with, of whatever type that is', async () => {
    const db = make();
    await db.put({ _id: 'a' });
    const begin = (await whole(db.dump())).slice(0, 40);
    const cut = Object.assign(new Error('Premature close'), { code: 'ERR_STREAM_PREMATURE_CLOSE' });
    for (const error of [new Error('network'), new TypeError('terminated'), cut, 'text'])
      for (const pieces of [[], [begin]]) {
        const stream = new ReadableStream({
          pull(controller) {
            const piece = pieces.shift();
            if (piece === undefined) controller.error(error);
            else controller.enqueue(piece);
          },
        });
        await expect(make().load(stream)).rejects.toBe(error);
      }
  });

  it('is refused at once, though more of its stream may come', async () => {
    const wrong = Uint8Array.of(0x1f, 0x8b, 99, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    const stream = new ReadableStream({ start: (controller) => controller.enqueue(wrong) });
    await expect(make().load(stream)).rejects.toMatchObject({ name: 'corrupt' });
  });
});
