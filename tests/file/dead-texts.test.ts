import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { describe, expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { Disk } from './disk';
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

  it('has none either if it is closed while the log is being copied without them', async () => {
    let begun = (): void => {};
    const copying = new Promise<void>((resolve) => {
      begun = resolve;
    });
    class Watched extends Disk {
      override open(path: string, flag: string): number {
        if (/log\.2/.test(path)) begun();
        return super.open(path, flag);
      }
    }
    const disk = new Watched();
    const folder = '/settledb-no-such-folder/dead-texts';
    const db = new SettleDB(folder, { adapter: file({ files: disk }) });
    for (let i = 0; i < 12; i++) {
      const { _rev } = await db.get('_local/doc').catch(() => ({ _rev: undefined }));
      await db.put({ _id: '_local/doc', text: `${i}`.padEnd(MB, '.'), ...(_rev && { _rev }) });
    }
    await copying;
    await db.close();
    const sizes = disk.list(folder).map((name) => {
      const fd = disk.open(join(folder, name), 'r');
      const { size } = disk.stat(fd);
      disk.close(fd);
      return size;
    });
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(2 * MB);
  });
});
