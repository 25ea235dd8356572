/** What no storage takes in one piece is refused as such, at once. */
import { describe, expect, it } from 'vitest';
import { fitting } from '../../adapters/indexeddb/src/pieces';
import { storedJson } from '../../packages/engine/src/stored-json';

describe('what is too large', () => {
  it('for the pieces of IndexedDB is refused for good', () => {
    const text = '\u4e00'.repeat(32_500 * 8_191);
    expect(fitting(text)).toHaveLength(8_191);
    const refusal = expect.objectContaining({ status: 413, name: 'too_large' });
    expect(() => fitting(`${text}x`)).toThrow(refusal);
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
