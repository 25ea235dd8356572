/** What no storage takes in one piece is refused as such, at once. */
import { describe, expect, it } from 'vitest';
import { piecesOf } from '../../adapters/indexeddb/src/pieces';
import { storedJson } from '../../packages/engine/src/stored-json';

describe('what is too large', () => {
  it('for the pieces of IndexedDB is refused for good', () => {
    const text = 'x'.repeat(65_000 * 4_095);
    expect(piecesOf(text)).toHaveLength(4_095);
    const refusal = expect.objectContaining({ status: 413, name: 'too_large' });
    expect(() => piecesOf(`${text}x`)).toThrow(refusal);
    expect(() => piecesOf(`${text.slice(text.length / 2)}\u4e00`)).toThrow(refusal);
  });

  it('for a string is refused likewise', () => {
    const cause = new RangeError('Invalid string length');
    const toJSON = (): never => {
      throw cause;
    };
    expect(() => storedJson({ toJSON })).toThrow(
      expect.objectContaining({ status: 413, name: 'too_large', cause }),
    );
  });
});
