/** Which databases of a server are open: over a folder in name only, where a second handle of a database is refused as a lock refuses it. */
import { type Database, ioError, locked } from '@settledb/core';
import { describe, expect, it } from 'vitest';
import { OpenDatabases } from '../../packages/remote/src/open-databases';
import { Random, trials } from '../replication/random';

/** Databases that are there; each is opened and closed in as many turns as chance has it. */
class Folder {
  readonly there = new Set<string>();
  readonly handles = new Map<string, Handle>();
  most = 0;
  readonly #random: Random;
  readonly #open: OpenDatabases;

  constructor(most: number, random = new Random(1), warn?: (line: string) => void) {
    this.#random = random;
    this.#open = new OpenDatabases((name) => this.openExisting(name), { most, warn });
  }

  readonly use = async (name: string) => {
    const used = await this.#open.use(name);
    return used && { handle: used.database as unknown as Handle, release: used.release };
  };
  readonly openForGood = async (name: string) =>
    (await this.#open.openForGood(name)) as unknown as Handle | undefined;
  readonly create = (name: string) => this.#open.create(name, () => this.#make(name));
  readonly destroy = (name: string) =>
    this.#open.destroy(name, async (database) => {
      await database.close();
      this.there.delete(name);
    });
  readonly drop = (handle: Handle) => this.#open.drop(handle.name, handle as unknown as Database);
  readonly close = () => this.#open.close();
  get names(): string[] {
    return [...this.handles.keys()].sort();
  }

  async openExisting(name: string): Promise<Database | undefined> {
    await this.turns();
    return this.there.has(name) ? this.#make(name) : undefined;
  }

  async #make(name: string): Promise<Database> {
    if (this.handles.has(name)) throw locked(`${name} is open already`);
    const handle = new Handle(name, this);
    this.handles.set(name, handle);
    this.most = Math.max(this.most, this.handles.size);
    this.there.add(name);
    await this.turns();
    return handle as unknown as Database;
  }

  async turns(): Promise<void> {
    for (let left = this.#random.below(4); left > 0; left--)
      await (this.#random.chance(0.5) ? undefined : new Promise((resolve) => setImmediate(resolve)));
  }
}

class Handle {
  isOpen = true;
  constructor(
    readonly name: string,
    readonly folder: Folder,
  ) {}

  async close(): Promise<void> {
    this.isOpen = false;
    await this.folder.turns();
    if (this.folder.handles.get(this.name) === this) this.folder.handles.delete(this.name);
  }
}

async function filled(most: number, ...names: string[]): Promise<Folder> {
  const folder = new Folder(most);
  for (const name of names) await folder.create(name);
  return folder;
}

const visit = async (folder: Folder, name: string): Promise<void> => (await folder.use(name))!.release();
/** What `value` gives, looked at again and again until it is as expected: databases are closed some turns after their last use. */
const soon = <T>(value: () => T) => expect.poll(value, { interval: 1 });

describe('databases of a server that are open', () => {
  it('are those that were used last', async () => {
    const folder = await filled(2, 'a', 'b', 'c');
    expect(folder.names).toEqual(['b', 'c']);
    await visit(folder, 'b');
    await visit(folder, 'a');
    expect(folder.names).toEqual(['a', 'b']);
  });

  it('are as many as are in use, and no more than are kept when they are no longer', async () => {
    const folder = await filled(2, 'a', 'b', 'c', 'd');
    const uses = await Promise.all(['a', 'b', 'c', 'd'].map(async (name) => (await folder.use(name))!));
    expect(folder.names).toEqual(['a', 'b', 'c', 'd']);
    const again = (await folder.use('a'))!;
    for (const { release } of uses) {
      release();
      release(); // Ends one use, however often it is called.
    }
    await soon(() => folder.names).toEqual(['a', 'd']);
    expect(again.handle.isOpen).toBe(true);
    again.release();
    await visit(folder, 'b');
    expect(folder.names).toEqual(['a', 'b']);
  });

  it('make no room for names that are none', async () => {
    const folder = await filled(2, 'a', 'b');
    expect(await Promise.all(['x', 'y', 'z'].map((name) => folder.use(name)))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(folder.names).toEqual(['a', 'b']);
  });

  it('stay open where `open` gave them, until they are destroyed', async () => {
    const folder = await filled(1, 'a', 'b');
    const kept = (await folder.openForGood('a'))!;
    expect(await folder.openForGood('a')).toBe(kept);
    await visit(folder, 'a');
    await visit(folder, 'b');
    await soon(() => folder.names).toEqual(['a']);
    expect(kept.isOpen).toBe(true);
    expect(await folder.destroy('a')).toBe(true);
    await visit(folder, 'b');
    expect(folder.names).toEqual(['b']);
  });

  it('are opened anew by who comes while they are being closed', async () => {
    const folder = await filled(1, 'a', 'b');
    const opening = folder.use('a');
    const other = folder.use('b');
    const [a, b] = await Promise.all([opening, other]);
    expect([a!.handle.isOpen, b!.handle.isOpen]).toEqual([true, true]);
    a!.release();
    const again = (await folder.use('a'))!; // It was chosen to be closed just now.
    expect([again.handle.isOpen, again.handle === a!.handle]).toEqual([true, false]);
  });

  it('are opened anew after they were dropped, though they were in use', async () => {
    const folder = await filled(2, 'a');
    const broken = (await folder.use('a'))!;
    folder.drop(broken.handle);
    const mended = (await folder.use('a'))!;
    expect([broken.handle.isOpen, mended.handle.isOpen]).toEqual([false, true]);
    folder.drop(broken.handle);
    broken.release();
    expect((await folder.use('a'))!.handle).toBe(mended.handle);
  });

  it('are none after the last of them was closed', async () => {
    const folder = await filled(3, 'a', 'b');
    await folder.use('a');
    const [creating] = await Promise.allSettled([folder.create('c'), folder.close()]);
    expect(creating.status).toBe('rejected');
    expect(folder.names).toEqual([]);
    await expect(folder.use('a')).rejects.toMatchObject({ name: 'closed' });
    await expect(folder.create('d')).rejects.toMatchObject({ name: 'closed' });
  });

  it('that fail to open are tried again', async () => {
    const folder = await filled(1, 'a', 'b');
    const other = new Handle('a', folder);
    folder.handles.set('a', other);
    await expect(folder.use('a')).rejects.toMatchObject({ name: 'locked' });
    expect(folder.names).toEqual(['a', 'b']);
    await other.close();
    await visit(folder, 'a');
    expect(folder.names).toEqual(['a']);
  });

  it('are told of when more are in use than are kept, once for each doubling', async () => {
    const lines: string[] = [];
    const folder = new Folder(2, new Random(1), (line) => lines.push(line));
    for (let i = 0; i < 13; i++) await folder.create(`db${i}`);
    expect(lines).toEqual([]);
    for (let i = 0; i < 13; i++) await folder.use(`db${i}`);
    expect(lines.map((line) => /^\d+/.exec(line)![0])).toEqual(['3', '7']);
  });

  it('are five hundred unless something else is said', async () => {
    const isOpen = new Set<string>();
    const databases = new OpenDatabases(async (name) => {
      isOpen.add(name);
      return { close: async () => void isOpen.delete(name) } as unknown as Database;
    });
    for (let n = 0; n < 503; n++) (await databases.use(`db${n}`))!.release();
    expect([isOpen.size, isOpen.has('db2'), isOpen.has('db3')]).toEqual([500, false, true]);
  });

  it('refuses bounds that are none', () => {
    for (const most of [0, -1, 1.5, '5', null])
      expect(() => new OpenDatabases(async () => undefined, { most: most as number })).toThrow(
        /^max_dbs_open must be/,
      );
  });
});

describe('whatever comes together', () => {
  it('no database is open twice, and as many are kept as may be', async () => {
    await trials(60, async (seed) => {
      const random = new Random(seed);
      const most = 1 + random.below(4);
      const folder = new Folder(most, random);
      const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
      const client = async (): Promise<void> => {
        for (let left = 30; left > 0; left--) {
          const name = random.pick(names);
          const kind = random.below(12);
          if (kind === 0) await folder.destroy(name);
          else if (kind < 3) await folder.create(name);
          else {
            const used = await folder.use(name);
            await folder.turns();
            if (kind === 3 && used !== undefined) folder.drop(used.handle);
            used?.release();
          }
          if (random.chance(0.2)) await folder.turns();
        }
      };
      await Promise.all(Array.from({ length: 6 }, client));
      await soon(() => folder.handles.size).toBeLessThanOrEqual(most);
      // As many as may be are kept.
      for (const name of folder.there) await visit(folder, name);
      expect(folder.handles.size).toBe(Math.min(most, folder.there.size));
      await folder.close();
      expect(folder.names).toEqual([]);
    });
  });

  it('a database in use stays open, whatever others do', async () => {
    await trials(60, async (seed) => {
      const random = new Random(seed);
      const folder = new Folder(2, random);
      const names = ['a', 'b', 'c', 'd', 'e'];
      for (const name of names) await folder.create(name);
      const client = async (): Promise<void> => {
        for (let left = 30; left > 0; left--) {
          const { handle, release } = (await folder.use(random.pick(names)))!;
          for (let turns = random.below(4); turns > 0; turns--) {
            expect(handle.isOpen).toBe(true);
            await folder.turns();
          }
          expect(handle.isOpen).toBe(true);
          release();
        }
      };
      await Promise.all(Array.from({ length: 4 }, client));
      expect(folder.most).toBeGreaterThan(2);
      await soon(() => folder.handles.size).toBe(2);
    });
  });
});

describe('where the system opens no more files', () => {
  const FILES = 10;

  function open() {
    const handles = new Set<string>();
    const lines: string[] = [];
    let code = 'EMFILE';
    const make = async (name: string): Promise<Database> => {
      if (handles.size === FILES)
        throw ioError(`Cannot open ${name}`, Object.assign(new Error(code), { code }));
      handles.add(name);
      return { close: async () => void handles.delete(name) } as unknown as Database;
    };
    const databases = new OpenDatabases(make, { warn: (line) => lines.push(line) });
    const fail = (other: string) => {
      code = other;
    };
    return { databases, handles, lines, fail };
  }

  it.each(['EMFILE', 'ENFILE'])('those that nobody uses make room (%s)', async (code) => {
    const { databases, handles, lines, fail } = open();
    fail(code);
    const kept = (await databases.use('kept'))!;
    for (let n = 0; n < 3 * FILES; n++) (await databases.use(`d${n}`))!.release();
    expect([handles.has('kept'), handles.has(`d${3 * FILES - 1}`), handles.size <= FILES]).toEqual([
      true,
      true,
      true,
    ]);
    expect(lines[0]).toContain('ulimit -n');
    kept.release();
    await databases.close();
  });

  it('room is made once for all that ask for it together, and for one that is to be destroyed', async () => {
    const { databases, handles, lines } = open();
    for (let n = 0; n < FILES; n++) (await databases.use(`d${n}`))!.release();
    const half = Array.from({ length: FILES / 2 }, (_, n) => databases.use(`other${n}`));
    for (const each of await Promise.all(half)) each!.release();
    expect([handles.size, handles.has(`d${FILES - 1}`), lines.length]).toEqual([FILES, true, 1]);
    expect(await databases.destroy('absent', (database) => database.close())).toBe(true);
    expect([handles.size, lines.length]).toEqual([FILES / 2, 2]);
    await databases.close();
  });

  it('if all are in use, or it fails otherwise, that is the error', async () => {
    const { databases, handles, fail } = open();
    const used = [];
    for (let n = 0; n < FILES; n++) used.push((await databases.use(`d${n}`))!);
    await expect(databases.use('more')).rejects.toMatchObject({ name: 'io' });
    for (const each of used) each.release();
    fail('EIO');
    await expect(databases.use('more')).rejects.toMatchObject({ name: 'io' });
    expect(handles.size).toBe(FILES);
    await databases.close();
  });
});
