import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import type { Journal } from '@settledb/engine';
import { describe, expect, it } from 'vitest';
import { nodeFiles } from '../../adapters/file/src/node-files';
import { LOOK_MS } from '../../packages/log/src/log';
import { failure } from './disk';
import {
  act,
  commitOf,
  copyOf,
  home,
  logName,
  namesIn,
  sampleActions,
  stateIn,
  stateOf,
  tail,
} from './support';

const base = home();

async function sample(name: string, adapter = file()): Promise<Journal> {
  const journal = await adapter.open(join(base, name));
  for (const action of sampleActions()) await act(journal, action);
  return journal;
}

/** A sample of which the system does not give the second log its name, so often. */
function unnamed(name: string, code: string, times = Number.POSITIVE_INFINITY): Promise<Journal> {
  let refused = 0;
  const rename = (from: string, to: string): void => {
    if (to.endsWith('log.2') && refused++ < times) throw failure(code);
    nodeFiles.rename(from, to);
  };
  return sample(name, file({ files: { ...nodeFiles, rename } }));
}

describe('vacuum', () => {
  it('keeps all that is alive, gives the rest back and leaves one file', async () => {
    const folder = join(base, 'plain');
    const journal = await sample('plain');
    const drop = [tail(5) + 1, tail(6) + 1, tail(6) + 2, tail(11)];
    await act(journal, { rewrite: { drop } });
    const [before, size] = [await stateOf(journal), statSync(logName(folder)).size];
    await journal.vacuum?.({ force: true });
    expect(await stateOf(journal)).toBe(before);
    expect(readdirSync(folder).filter((name) => name.startsWith('log'))).toEqual(['log.2']);
    expect(statSync(logName(folder)).size).toBeLessThan(size);
    await journal.vacuum?.({ force: true });
    await journal.close();
    expect(readdirSync(folder)).toEqual(['log.3']);
    expect(await stateIn(folder)).toBe(before);
  });

  it('waits until more than a megabyte and more than half are dead, unless forced', async () => {
    const folder = join(base, 'worth');
    const journal = await file().open(folder);
    const text = 'x'.repeat(700_000);
    const put = [1, 2, 3, 4, 5].map((i) => ({ id: -i, text }));
    await act(journal, { rewrite: { put } });
    await act(journal, { rewrite: { drop: [-1] } });
    await journal.vacuum?.();
    await act(journal, { rewrite: { drop: [-2] } });
    await journal.vacuum?.();
    expect(existsSync(join(folder, 'log.1'))).toBe(true);
    await act(journal, { rewrite: { drop: [-3] } });
    await journal.vacuum?.();
    expect(existsSync(join(folder, 'log.2'))).toBe(true);
    expect(await journal.load([-3, -4])).toEqual([undefined, text]);
    await journal.close();
  });

  it('loses nothing that is appended, rewritten or loaded while it runs', async () => {
    const folder = join(base, 'meanwhile');
    const journal = await file().open(folder);
    const put = Array.from({ length: 40 }, (_, i) => ({ id: -1 - i, text: `${i} `.repeat(60_000) }));
    await act(journal, { rewrite: { put } });
    for (let round = 0; round < 3; round++) {
      let running = true;
      const vacuumed = journal.vacuum?.({ force: true }).finally(() => {
        running = false;
      });
      for (let steps = 0; running || steps < 3; steps++) {
        const { commits } = await journal.read();
        await act(journal, { append: commitOf(commits.length + 1) }, steps % 4 === 0 ? 'strict' : 'relaxed');
        if (steps % 3 === 0) await act(journal, { rewrite: { drop: [-1 - round * 10 - (steps % 10)] } });
        const [text] = await journal.load([-40]);
        expect(text === put[39]!.text).toBe(true);
      }
      await vacuumed;
    }
    const state = await stateOf(journal);
    await journal.close();
    expect(await stateIn(folder)).toBe(state);
    expect(namesIn(folder)).toEqual(['log.4']);
  });

  it('gives up when its signal says so, or the journal closes, and leaves no trace', async () => {
    const folder = join(base, 'aborted');
    const journal = await sample('aborted');
    const state = await stateOf(journal);
    const reason = new Error('enough');
    const controller = new AbortController();
    const vacuumed = journal.vacuum?.({ force: true, signal: controller.signal });
    controller.abort(reason);
    await expect(vacuumed).rejects.toBe(reason);
    await expect(journal.vacuum?.({ signal: controller.signal })).rejects.toBe(reason);
    const another = journal.vacuum?.({ force: true }).catch((error) => error);
    await journal.close();
    expect(await another).toMatchObject({ name: 'closed' });
    expect(readdirSync(folder)).toEqual(['log.1']);
    expect(await stateIn(folder)).toBe(state);
  });

  it.each([
    'EINVAL',
    'ENOTSUP',
    'EIO',
  ])('whose log the system does not rename (%s) leaves the one before', async (code) => {
    const folder = join(base, `not renamed ${code}`);
    const journal = await unnamed(`not renamed ${code}`, code);
    const state = await stateOf(journal);
    await expect(journal.vacuum?.({ force: true })).rejects.toMatchObject({ name: 'io' });
    await journal.close().catch(() => {});
    expect(await stateIn(folder)).toBe(state);
  });

  it.each([
    'EPERM',
    'EACCES',
    'EBUSY',
  ])('whose log others have open, so that it gets no name (%s), keeps nobody from writing on', async (code) => {
    const folder = join(base, `refused ${code}`);
    const journal = await unnamed(`refused ${code}`, code, 1);
    await expect(journal.vacuum?.({ force: true })).rejects.toMatchObject({ name: 'io', cause: { code } });
    expect(namesIn(folder).filter((name) => name.startsWith('log'))).toEqual(['log.1']);
    await act(journal, { append: commitOf(29) }, 'strict');
    const state = await stateOf(journal);
    await journal.vacuum?.({ force: true });
    await journal.close();
    expect(namesIn(folder)).toEqual(['log.2']);
    expect(await stateIn(folder)).toBe(state);
  });

  it('killed before or after its log got its name leaves a whole one; what it left goes at the next open', async () => {
    const journal = await sample('killed');
    const old = copyOf(join(base, 'killed'));
    const state = await stateOf(journal);
    await journal.vacuum?.({ force: true });
    await journal.close();
    const [one, two] = [join(old, 'log.1'), join(base, 'killed', 'log.2')];
    // Before: an unfinished file beside the old one.
    writeFileSync(join(old, 'log.2.tmp'), Buffer.concat([Buffer.alloc(44), Buffer.from('half')]));
    writeFileSync(join(old, 'log.3.tmp'), 'of another program');
    expect(await stateIn(old)).toBe(state);
    expect(readdirSync(old).sort()).toEqual(['log.1', 'log.3.tmp']);
    rmSync(join(old, 'log.3.tmp'));
    // After: both are there.
    copyFileSync(two, join(old, 'log.2'));
    expect(await stateIn(old)).toBe(state);
    expect(readdirSync(old)).toEqual(['log.2']);
    // A damaged new one is not silently given up for the old.
    copyFileSync(two, one);
    writeFileSync(join(old, 'log.3'), '');
    await expect(file().open(old)).rejects.toMatchObject({ name: 'corrupt' });
    expect(readdirSync(old).sort()).toEqual(['log.2', 'log.1', 'log.3'].sort());
  });
});

describe('a folder', () => {
  it('goes with its database when nothing else is in it, and stays otherwise', async () => {
    await (await sample('gone')).close();
    await file().destroy(join(base, 'gone'));
    expect(existsSync(join(base, 'gone'))).toBe(false);
    await (await sample('stays')).close();
    writeFileSync(join(base, 'stays', 'mine.txt'), 'mine');
    await file().destroy(join(base, 'stays'));
    expect(readdirSync(join(base, 'stays'))).toEqual(['mine.txt']);
    mkdirSync(join(base, 'empty'));
    await file().destroy(join(base, 'empty'));
    expect(existsSync(join(base, 'empty'))).toBe(true);
  });

  it('goes with its database when the log is damaged, also in its first bytes', async () => {
    for (const byte of [3, 5, 12, 41, 43, 60]) {
      const folder = join(base, `damaged ${byte}`);
      await (await sample(`damaged ${byte}`)).close();
      const data = readFileSync(join(folder, 'log.1'));
      data[byte]! ^= 0x5a;
      writeFileSync(join(folder, 'log.1'), data);
      await expect(file().open(folder)).rejects.toMatchObject({ name: 'corrupt' });
      await file().destroy(folder);
      expect(existsSync(folder)).toBe(false);
    }
  });

  it('with a log that is none is left as it is, and said so', async () => {
    const folder = join(base, 'foreign log');
    await (await sample('foreign log')).close();
    writeFileSync(join(folder, 'log.5'), 'of another program');
    const told = { name: 'corrupt', reason: expect.stringContaining('log.5') };
    await expect(file().open(folder)).rejects.toMatchObject(told);
    await expect(file().destroy(folder)).rejects.toMatchObject(told);
    expect(readdirSync(folder).sort()).toEqual(['log.1', 'log.5']);
  });

  it('with files of others, and no database, is refused', async () => {
    const folder = join(base, 'project');
    mkdirSync(folder);
    writeFileSync(join(folder, 'package.json'), '{}');
    await expect(file().open(folder)).rejects.toMatchObject({
      name: 'bad_request',
      reason: expect.stringContaining('package.json'),
    });
    await file().destroy(folder);
    expect(readdirSync(folder)).toEqual(['package.json']);
  });

  it('may hold folders, databases in them, and hidden files', async () => {
    const folder = join(base, 'parent');
    await (await sample('parent/child')).close();
    writeFileSync(join(folder, '.gitignore'), '*');
    await (await sample('parent')).close();
    await file().destroy(folder);
    expect(readdirSync(folder).sort()).toEqual(['.gitignore', 'child']);
  });

  // mkdir with `recursive` never returns there (Node 20).
  it.runIf(existsSync('/proc/self'))('that the system does not let be made is refused', async () => {
    await expect(file().open('/proc/settledb/a')).rejects.toMatchObject({
      name: 'io',
      cause: { code: 'ENOENT' },
    });
  });

  it('is one location by whatever way it is named', async () => {
    const adapter = file();
    mkdirSync(join(base, 'real'));
    symlinkSync(join(base, 'real'), join(base, 'link'));
    expect(adapter.location(join(base, 'link', 'db'))).toBe(
      file().location(join(base, 'x', '..', 'real', 'db')),
    );
    const journal = await adapter.open(join(base, 'link', 'db'));
    await expect(adapter.open(join(base, 'real', 'db'))).rejects.toMatchObject({ name: 'locked' });
    await journal.close();
  });

  it('removed while the database is open is told by the next strict write, and by every write from then on', async () => {
    const journal = await sample('removed');
    rmSync(join(base, 'removed'), { recursive: true });
    const told = { name: 'io', reason: expect.stringContaining('was removed while it was open') };
    await expect(act(journal, { append: commitOf(29) }, 'strict')).rejects.toMatchObject(told);
    await expect(act(journal, { append: commitOf(30) })).rejects.toMatchObject(told);
    await journal.close();
  });

  it('removed is told by a relaxed write, at the latest when it was looked for again', async () => {
    const journal = await sample('removed, relaxed');
    rmSync(join(base, 'removed, relaxed'), { recursive: true });
    const told = { name: 'io', reason: expect.stringContaining('was removed while it was open') };
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS + 2)); // a timer may be early by one
    await expect(act(journal, { append: commitOf(29) })).rejects.toMatchObject(told);
    await journal.close();
  });

  it('renamed, or replaced, while the database is open is told too, and nothing is written where nobody looks', async () => {
    const told = { name: 'io', reason: expect.stringContaining('or renamed, or replaced') };
    const waited = () => new Promise((resolve) => setTimeout(resolve, LOOK_MS + 2));
    for (const how of ['renamed', 'replaced', 'parent renamed']) {
      const folder = join(base, how, 'db');
      const journal = await sample(join(how, 'db'));
      const before = await stateOf(journal);
      await journal.blobs.put('a'.repeat(32), [Buffer.alloc(300_000)], 'strict');
      await waited();
      const [from, to] = how.startsWith('parent')
        ? [join(base, how), `${join(base, how)} there`]
        : [folder, `${folder} there`];
      renameSync(from, to);
      if (how === 'replaced')
        cpSync(to, folder, { recursive: true, filter: (name) => !name.includes('lock.') });
      const left = how === 'replaced' ? readdirSync(folder) : undefined;
      const content = journal.blobs.put('b'.repeat(32), [Buffer.alloc(300_000)], 'relaxed');
      await expect(content, how).rejects.toMatchObject(told);
      await expect(act(journal, { append: commitOf(29) }), how).rejects.toMatchObject(told);
      const contents = [{ place: journal.blobs.placeFor!(30)!, bytes: Buffer.alloc(30) }];
      const little = act(journal, { append: { ...commitOf(29), contents } });
      await expect(little, how).rejects.toMatchObject(told);
      await expect(journal.vacuum?.({ force: true }), how).rejects.toMatchObject(told);
      expect(await stateOf(journal)).toBe(before);
      await journal.close().catch(() => {});
      expect(existsSync(folder) ? readdirSync(folder) : undefined, how).toEqual(left);
      const moved = how.startsWith('parent') ? join(to, 'db') : to;
      expect(await stateIn(moved), how).toBe(before);
    }
  });

  it('renamed is told at close, where nothing was written, and its lock binds nobody', async () => {
    const folder = join(base, 'renamed, closed');
    await (await sample('renamed, closed')).close();
    const journal = await file().open(folder);
    const before = await stateOf(journal);
    renameSync(folder, `${folder} there`);
    await expect(journal.close()).rejects.toMatchObject({ name: 'io' });
    expect(await stateIn(`${folder} there`)).toBe(before);
  });

  it('of little attachments that is removed while the database is open is told by the next of them', async () => {
    const folder = join(base, 'packs removed');
    const journal = await sample('packs removed');
    const put = (durability: 'strict' | 'relaxed') => {
      const place = journal.blobs.placeFor!(30)!;
      return journal.blobs.put(place, [Buffer.alloc(30)], durability);
    };
    await put('relaxed');
    rmSync(join(folder, 'log.blobs'), { recursive: true });
    const told = { name: 'io', reason: expect.stringContaining('was removed while it was open') };
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS + 2));
    await expect(put('relaxed')).rejects.toMatchObject(told);
    // What was put before is not on any disk: who closes is told.
    await expect(journal.close()).rejects.toMatchObject(told);
  });

  it('cut by another program is told by the next write, in place of leaving a hole in the log', async () => {
    const journal = await sample('cut');
    const path = logName(join(base, 'cut'));
    const copy = readFileSync(path);
    truncateSync(path, 200);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS + 2));
    const told = { name: 'io', reason: expect.stringContaining('was cut by another program') };
    const written = journal.append(commitOf(29), { epoch: 1, n: 28 }, 'relaxed');
    await expect(written).rejects.toMatchObject(told);
    expect(readFileSync(path).length).toBe(200);
    await journal.close();
    writeFileSync(path, copy);
    await expect(stateIn(join(base, 'cut'))).resolves.toContain('head 28');
  });

  it('removed while the database is open is told at close', async () => {
    const journal = await sample('removed');
    rmSync(join(base, 'removed'), { recursive: true });
    await expect(journal.close()).rejects.toMatchObject({
      name: 'io',
      reason: expect.stringContaining('removed'),
    });
    await expect(file().open(join(base, 'removed'), { mustExist: true })).rejects.toMatchObject({
      name: 'not_found',
    });
  });
});
