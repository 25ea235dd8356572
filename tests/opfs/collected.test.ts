/** Objects of the browser that only a running call knows: they may be collected before it answers, which it then never does. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { call, canOpenPages, openPages } from '../support/pages';

describe.skipIf(!canOpenPages())('a database in private files', () => {
  it('opens and closes while the browser collects what nobody holds', async () => {
    const tabs = await openPages({
      entry: new URL('./collecting-page.ts', import.meta.url),
      scripts: { '/worker.js': new URL('./collecting-worker.ts', import.meta.url) },
      flags: ['--js-flags=--expose-gc'],
    });
    onTestFinished(() => tabs.close());
    expect(await call(tabs.pages[0]!, 'openings', 5)).toBe(10);
  });
});
