import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { home } from './support';

const base = home();
const MB = 1024 * 1024;

const bytesIn = (folder: string): number =>
  readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);

describe('a folder', () => {
  it.each([
    ['a document, with auto_compaction', 'doc', { auto_compaction: true }],
    ['a local document', '_local/doc', {}],
  ])('that was closed has no dead texts of %s that was edited a few times', async (_, id, options) => {
    const folder = join(base, id);
    const db = new SettleDB(folder, options);
    let rev: string | undefined;
    for (let i = 0; i < 12; i++) {
      const text = `${i}`.padEnd(MB, '.');
      ({ rev } = await db.put({ _id: id, text, ...(rev && { _rev: rev }) }));
    }
    await db.close();
    expect(bytesIn(folder)).toBeLessThan(2 * MB);
    const again = new SettleDB(folder);
    expect(await again.get(id)).toMatchObject({ text: '11'.padEnd(MB, '.') });
    await again.close();
  });
});
