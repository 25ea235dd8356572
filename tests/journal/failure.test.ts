/** What a failure of IndexedDB becomes. */
import { describe, expect, it } from 'vitest';
import { storageError } from '../../adapters/indexeddb/src/failure';

describe('a failure of IndexedDB', () => {
  it.each([
    ['UnknownError', 'Internal error', 500, 'io'],
    ['NotReadableError', 'Data lost due to missing file.', 500, 'corrupt'],
    ['QuotaExceededError', 'simulated', 507, 'quota_exceeded'],
  ])('%s (%s) is %s %s', (name, words, status, becomes) => {
    const cause = new DOMException(words, name);
    const reason = `Writing failed: ${name}: ${words}`;
    const error = storageError('Writing', cause);
    expect(error).toMatchObject({ status, name: becomes, cause });
    if (status === 500) expect(error).toMatchObject({ reason });
  });
});
