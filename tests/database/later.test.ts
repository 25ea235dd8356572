/** Code that is loaded when it is first needed, by whatever a bundler makes of `import()`. */
import { Later } from '@settledb/core';
import { describe, expect, it } from 'vitest';

describe('code that is loaded later', () => {
  it.each([
    ['rejects', (cause: Error) => Promise.reject(cause)],
    // As webpack's does in a worker, where it is `importScripts`.
    [
      'throws at once',
      (cause: Error) => {
        throw cause;
      },
    ],
  ])('and cannot be had is not_loaded, and asked for again, when its loader %s', async (_, fail) => {
    const cause = new Error('offline');
    let online = false;
    const later = new Later('queries', () => (online ? Promise.resolve('code') : fail(cause)));
    await expect(later.load()).rejects.toMatchObject({ status: 503, name: 'not_loaded', cause });
    online = true;
    expect(await later.load()).toBe('code');
  });
});
