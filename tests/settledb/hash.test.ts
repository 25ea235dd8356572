/** The revision's hash in Node, as WebAssembly: the bytes are those that the source makes, the digits those of any platform. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { hash128, portableHash, revHash } from '../../packages/core/src/model';
import '../../packages/settledb/src/bytes.node';
import { compiledHash, HASH_WASM } from '../../packages/settledb/src/hash.node';
import { hashWasm } from '../../packages/settledb/src/hash-wasm';

const compiled = compiledHash();
/** Any code units, pairs torn apart among them. */
const units = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 50 })
  .map((codes) => String.fromCharCode(...codes));
const texts = fc.oneof(units, fc.string({ maxLength: 400 }), fc.string({ unit: 'binary' }));
const words = fc.tuple(fc.nat(), fc.nat(), fc.nat(), fc.maxSafeInteger());

it('is what its source makes', () => {
  expect(Buffer.from(hashWasm()).toString('base64')).toBe(HASH_WASM);
});

it('answers as the portable hash does, whatever the text', () => {
  fc.assert(
    fc.property(words, texts, texts, texts, (four, id, parent, body) => {
      const wanted = portableHash(...four, id, parent, body);
      expect(compiled(...four, id, parent, body)).toBe(wanted);
    }),
    { numRuns: 500 },
  );
});

it('puts a generation before the digits', () => {
  const long = 'x'.repeat(600_000);
  for (const hash of [compiled, portableHash]) {
    for (const text of ['', 'a text', long]) {
      const digits = hash(1, 2, 3, 4, text);
      expect(digits).toMatch(/^[0-9a-f]{32}$/);
      for (let generation = 1; generation <= 9; generation++) {
        expect(hash(1, 2, 3, 4, text, '', '', generation)).toBe(`${generation}-${digits}`);
      }
      expect(hash(1, 2, 3, 4, text)).toBe(digits);
    }
  }
});

it('does so at each length: of what a longer text left in its memory nothing counts', () => {
  const long = 'ŵ\ud800x'.repeat(40);
  for (let length = 0; length < long.length; length++) {
    compiled(1, 2, 3, 4, long);
    const text = long.slice(0, length);
    expect(compiled(length, 0, 0, 2, text)).toBe(portableHash(length, 0, 0, 2, text));
  }
});

it('does so beyond the room that it has', () => {
  const room = 16 * 65_536;
  for (const bytes of [room - 200, room - 98, room - 96, room - 94, room - 64, room, room + 2, 3 * room]) {
    const text = `{"text":"${'äb\udfff'.repeat(bytes / 6 + 10)}`.slice(0, bytes / 2);
    expect(text.length).toBe(bytes / 2);
    expect(compiled(1, 2, 3, 4, text)).toBe(portableHash(1, 2, 3, 4, text));
    expect(compiled(1, 2, 3, 4, '', '', 'after it')).toBe(portableHash(1, 2, 3, 4, 'after it'));
  }
});

it('makes the revisions of this process from the first edit on', () => {
  expect(hash128).not.toBe(portableHash);
  const [id, body] = ['cat', '{"name":"Mitzi"}'];
  expect(revHash(id, undefined, false, body)).toBe(portableHash(id.length, 0, body.length, 2, id, '', body));
});
