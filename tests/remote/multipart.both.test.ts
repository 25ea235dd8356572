/**
 * The multipart reader and writer, in Node and in a browser. What is written in any nesting and cut into any chunks is read
 * back byte for byte; what is cut off anywhere is an error.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  boundaryOf,
  type OutgoingPart,
  quoteFilename,
  readMultipart,
  writeMultipart,
} from '../../packages/remote/src/multipart';

const RUNS = 300;
const encode = (text: string) => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

async function join(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: number[] = [];
  for await (const piece of pieces) for (const byte of piece) all.push(byte);
  return Uint8Array.from(all);
}

async function* cut(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = Math.max(1, sizes[i % sizes.length]!);
    yield bytes.slice(at, at + size);
    at += size;
  }
}

type Read = [headers: Record<string, string>, body: string | Read[]][];

async function readAll(source: AsyncIterable<Uint8Array>, boundary: string): Promise<Read> {
  const parts: Read = [];
  for await (const { headers, body } of readMultipart(source, boundary)) {
    const inner = boundaryOf(headers.get('content-type'));
    parts.push([
      Object.fromEntries(headers),
      inner === undefined ? hex(await join(body)) : ((await readAll(body, inner)) as never),
    ]);
  }
  return parts;
}

const hex = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** Bytes that are most of the time made of what boundaries are made of. */
const body = (boundary: string) =>
  fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc
      .array(
        fc.constantFrom('\r', '\n', '-', '\r\n', '--', boundary, `\r\n--${boundary.slice(0, -1)}`, 'x', '\0'),
        { maxLength: 12 },
      )
      .map((pieces) => encode(pieces.join('')))
      // Nobody may write the boundary itself, which is why boundaries are random.
      .filter((bytes) => !`\r\n${decode(bytes)}`.includes(`\r\n--${boundary}`)),
  );
const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 });

describe('multipart', () => {
  it('is read as it was written, whatever the bytes, the nesting and the chunks', async () => {
    const parts = fc.array(
      fc.oneof(
        body('outer').map((bytes) => ({ bytes })),
        fc.array(body('outer'), { minLength: 1, maxLength: 3 }).map((inner) => ({ inner })),
      ),
      { maxLength: 4 },
    );
    await fc.assert(
      fc.asyncProperty(parts, sizes, async (given, chunks) => {
        const outgoing: OutgoingPart[] = given.map((part, i) =>
          'bytes' in part
            ? { headers: { 'Content-Type': 'application/octet-stream', 'X-N': `${i}` }, body: part.bytes }
            : {
                // CouchDB's inner boundaries stand unquoted; that one begins with the other is the mean case.
                headers: { 'Content-Type': 'multipart/related; boundary=outer2' },
                body: writeMultipart(
                  part.inner.map((bytes) => ({ headers: {}, body: bytes })),
                  'outer2',
                ),
              },
        );
        const bytes = await join(writeMultipart(outgoing, 'outer'));
        const expected = given.map((part) =>
          'bytes' in part ? hex(part.bytes) : part.inner.map((inner) => [{}, hex(inner)]),
        );
        const read = await readAll(cut(bytes, chunks), 'outer');
        expect(read.map(([, inner]) => inner)).toEqual(expected);
      }),
      { numRuns: RUNS },
    );
  });

  it('is an error wherever it is cut off', async () => {
    const inner = writeMultipart([{ headers: { a: 'b' }, body: 'x\r\n-' }], 'in');
    const bytes = await join(
      writeMultipart(
        [
          { headers: { 'Content-Type': 'application/json' }, body: '{}' },
          { headers: { 'Content-Type': 'multipart/related; boundary="in"' }, body: inner },
        ],
        'out',
      ),
    );
    expect(await readAll(cut(bytes, [7]), 'out')).toHaveLength(2);
    for (let end = 0; end < bytes.length; end++) {
      await expect(readAll(cut(bytes.slice(0, end), [5]), 'out'), `cut at ${end}`).rejects.toMatchObject({
        status: 400,
      });
    }
  });

  it('is no more than a closing boundary when it is empty', async () => {
    const bytes = await join(writeMultipart([], 'b'));
    expect(decode(bytes)).toBe('--b--');
    expect(await readAll(cut(bytes, [2]), 'b')).toEqual([]);
  });

  it('is read with preamble, epilogue, padding, folded headers and parts without body or headers', async () => {
    const text =
      'to whom it concerns\r\n--b \t\r\nA: 1\r\n  2\r\n\r\nx\r\n--b\r\n\r\n--b\r\n\r\n\r\n--b\r\nB:3\r\n\r\n--b--\r\nbye';
    expect(await readAll(cut(encode(text), [1]), 'b')).toEqual([
      [{ a: '1 2' }, hex(encode('x'))],
      [{}, ''],
      [{}, ''],
      [{ b: '3' }, ''],
    ]);
  });

  it('goes on to the next part when a body was read in part, or not at all', async () => {
    const parts = ['one', 'two', 'three'].map((text) => ({ headers: {}, body: text.repeat(50) }));
    const bytes = await join(writeMultipart(parts, 'b'));
    const seen: string[] = [];
    const bodies: AsyncIterable<Uint8Array>[] = [];
    for await (const part of readMultipart(cut(bytes, [9]), 'b')) {
      bodies.push(part.body);
      if (bodies.length === 1) continue;
      for await (const piece of part.body) {
        seen.push(decode(piece).slice(0, 2));
        break;
      }
    }
    expect(seen).toEqual(['tw', 'th']);
    await expect(join(bodies[0]!)).rejects.toMatchObject({ status: 400 });
  });

  it('lets its source go when it is left before the end', async () => {
    let left = false;
    async function* source() {
      try {
        for (;;) yield encode('--b\r\n\r\nx\r\n');
      } finally {
        left = true;
      }
    }
    for await (const _part of readMultipart(source(), 'b')) break;
    expect(left).toBe(true);
  });

  it('holds no more than a chunk and a boundary, however long a part is', async () => {
    let longest = 0;
    async function* source() {
      yield encode('--b\r\n\r\n');
      for (let i = 0; i < 2_000; i++) yield new Uint8Array(1_000).fill(i % 2 ? 13 : 10);
      yield encode('\r\n--b--');
    }
    let length = 0;
    for await (const part of readMultipart(source(), 'b')) {
      for await (const piece of part.body) {
        longest = Math.max(longest, piece.buffer.byteLength);
        length += piece.length;
      }
    }
    expect(length).toBe(2_000_000);
    expect(longest).toBeLessThan(3_000);
  });

  it('refuses headers without end, without colon, and with a line end of another kind', async () => {
    const head = (text: string) => readAll(cut(encode(`--b\r\n${text}`), [4_000]), 'b');
    for (const text of ['x'.repeat(40_000), 'a: b\r\n'.repeat(8_000), 'nothing\r\n\r\n', 'a: b\n\n', '\n']) {
      await expect(head(text)).rejects.toMatchObject({ status: 400 });
    }
    for (const end of ['', '\r\n--b\r\n\r\n\r\n--b--']) {
      const late = readAll(cut(encode('x'.repeat(40_000) + end), [999]), 'b');
      await expect(late).rejects.toMatchObject({ status: 400 });
    }
  });

  it('reads no more than 16 KB of headers, in one line or in many', async () => {
    for (const line of ['x'.repeat(1_000), `a: ${'x'.repeat(995)}\r\n`]) {
      let read = 0;
      async function* source() {
        yield encode('--b\r\n');
        for (; ; read++) yield encode(line);
      }
      await expect(readAll(source(), 'b')).rejects.toMatchObject({ status: 400 });
      expect(read).toBeLessThanOrEqual(17);
    }
  });

  it('takes up to 128 blanks behind a boundary', async () => {
    const part = (blanks: number) => encode(`--b\r\n\r\nx\r\n--b${' '.repeat(blanks)}\r\n\r\ny\r\n--b--`);
    expect(await readAll(cut(part(128), [50]), 'b')).toHaveLength(2);
    expect(await readAll(cut(part(129), [50]), 'b')).toHaveLength(1);
  });

  it('finds the boundary of a type, quoted or not, and refuses one that is none', () => {
    expect(boundaryOf('multipart/mixed; boundary="a b"')).toBe('a b');
    expect(boundaryOf('Multipart/Related;charset=x; Boundary=a-b; type="x"')).toBe('a-b');
    expect(boundaryOf('multipart/related; boundary="a=\\b"')).toBe('a=b');
    for (const type of ['application/json', '', null, undefined]) expect(boundaryOf(type)).toBeUndefined();
    for (const type of [
      'multipart/mixed',
      'multipart/mixed; boundary=""',
      `multipart/mixed; boundary=${'x'.repeat(71)}`,
    ])
      expect(() => boundaryOf(type)).toThrow(/Malformed multipart/);
  });

  it('writes no header that would end early', async () => {
    await expect(
      join(writeMultipart([{ headers: { a: 'b\r\nc: d' }, body: '' }], 'b')),
    ).rejects.toMatchObject({
      status: 400,
    });
    expect(quoteFilename('a"b\r\nc\\é')).toBe('attachment; filename="a%22b%0D%0Ac%5Cé"');
  });
});
