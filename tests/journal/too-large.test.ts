/** What no storage takes in one piece is refused as such, at once. */
import { describe, expect, it } from 'vitest';
import { isRefusal, storageError } from '../../adapters/indexeddb/src/failure';
import { storedJson } from '../../packages/engine/src/stored-json';

describe('what is too large', () => {
  it('for a record of Chromium is refused for good, as a document that is too large', () => {
    const words =
      'The serialized keys and/or value are too large (size=140000046 bytes, max=133169152 bytes).';
    const cause = new DOMException(words, 'UnknownError');
    expect(isRefusal(cause)).toBe(true);
    expect(storageError('Writing', cause)).toMatchObject({ status: 413, name: 'too_large', cause });
    const other = new DOMException('Internal error', 'UnknownError');
    expect(isRefusal(other)).toBe(false);
    expect(storageError('Writing', other)).toMatchObject({ status: 500, name: 'io' });
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
