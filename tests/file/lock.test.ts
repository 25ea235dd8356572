import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { file } from '@settledb/adapter-file';
import { describe, expect, it } from 'vitest';
import { takeLock } from '../../adapters/file/src/lock';
import { nodeFiles } from '../../adapters/file/src/node-files';
import { isRunning, processStart } from '../../adapters/file/src/process-identity';
import { bundled, start } from './child';
import { commitOf, home } from './support';

/** Waiting for the other to let go takes twice as long (lock-child.ts). */
const AT_ONCE_MS = 30_000;
const base = home();
const script = bundled('lock-child.ts', base);

/** A child that has `folder` open; resolves when it has. */
async function holder(folder: string) {
  const { promise, resolve } = deferred<string>();
  const started = start(script, [folder], (line) => resolve(line));
  expect(await promise).toBe(`open ${started.child.pid}`);
  return started;
}

function deferred<T>() {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

describe('the lock of a database', () => {
  it('refuses a second process at once, naming the first, and lets it in when the first was killed', async () => {
    const folder = join(base, 'two processes');
    const { child, ended } = await holder(folder);
    const began = performance.now();
    const reason = expect.stringContaining(`pid ${child.pid}`);
    await expect(file().open(folder)).rejects.toMatchObject({ name: 'locked', status: 423, reason });
    expect(performance.now() - began).toBeLessThan(AT_ONCE_MS);
    await expect(file().destroy(folder)).rejects.toMatchObject({ name: 'locked' });
    child.kill('SIGKILL');
    // The zombie stays until this process looks: the lock must not wait for that.
    await once(child, 'exit');
    const journal = await file().open(folder);
    await journal.append(commitOf(1), { epoch: 0, n: 0 }, 'strict');
    await journal.close();
    await ended;
  });

  it('says that a thread may have it, also one that ended without closing it', async () => {
    const folder = join(base, 'threads');
    const thread = new Worker(script, { argv: [folder], stdout: true });
    await once(thread.stdout, 'data');
    const reason = expect.stringContaining('another thread (also one that has ended)');
    await expect(file().open(folder)).rejects.toMatchObject({ name: 'locked', reason });
    await thread.terminate();
    await expect(file().open(folder)).rejects.toMatchObject({ name: 'locked', reason });
  });

  it('refuses a child while this process has the database, and not when it was closed', async () => {
    const folder = join(base, 'this process');
    const journal = await file().open(folder);
    const lines: string[] = [];
    await start(script, [folder, 'once'], (line) => lines.push(line)).ended;
    expect(lines).toEqual([expect.stringMatching(new RegExp(`^locked .*pid ${process.pid}`))]);
    await journal.close();
    await start(script, [folder, 'once'], (line) => lines.push(line)).ended;
    expect(lines[1]).toMatch(/^open/);
    expect(readdirSync(folder)).toEqual(['log.1']);
  });

  it('of a dead owner is no lock, also when its process id is in use again', async () => {
    const folder = join(base, 'dead owners');
    mkdirSync(folder);
    // Ids beyond any Linux gives; this process's own, of an earlier life; one that lives (init), begun at another time.
    for (const owner of [
      '4194999.17-0a1b2c3d',
      `${process.pid}.1-0a1b2c3d`,
      '1.987654321-0a1b2c3d',
      '4194999.0',
    ]) {
      writeFileSync(join(folder, `lock.${owner}.0123456789ab`), '1');
    }
    const journal = await file().open(folder);
    await journal.close();
    expect(readdirSync(folder)).toEqual(['log.1']);
  });

  it('says what to do if a living process may have the id of a dead owner, where nobody can know', async () => {
    const folder = join(base, 'unknown owner');
    mkdirSync(folder);
    const advice = `If process ${process.ppid} is another program`;
    const refusal = async (name: string): Promise<string> => {
      writeFileSync(join(folder, name), '1');
      return file()
        .open(folder)
        .then(String, (error) => error.reason);
    };
    const name = `lock.${process.ppid}.0.0123456789ab`;
    const reason = await refusal(name);
    expect(reason).toContain(name);
    expect(reason).toContain(advice);
    rmSync(join(folder, name));
    const known = readFileSync(`/proc/${process.ppid}/stat`, 'utf8').split(') ')[1]?.split(' ')[19];
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8);
    const sure = await refusal(`lock.${process.ppid}.${known}-${boot}.0123456789ab`);
    expect(sure).toContain('is open in process');
    expect(sure).not.toContain(advice);
  });

  it('goes to one of many who find a dead owner at once', async () => {
    for (let round = 0; round < 20; round++) {
      const folder = join(base, `race ${round}`);
      mkdirSync(folder);
      writeFileSync(join(folder, 'lock.4194999.17-0a1b2c3d.0123456789ab'), '1');
      const taken = await Promise.allSettled([1, 2, 3, 4, 5, 6].map(() => takeLock(nodeFiles, folder)));
      expect(taken.filter((each) => each.status === 'fulfilled')).toHaveLength(1);
    }
  });

  it('goes to one at most of several processes that begin together', async () => {
    const folder = join(base, 'processes');
    const lines: string[] = [];
    const all = deferred<void>();
    const children = Array.from({ length: 4 }, () =>
      start(script, [folder], (line) => {
        if (lines.push(line) === 4) all.resolve();
      }),
    );
    await all.promise;
    expect(lines.filter((line) => line.startsWith('open'))).toHaveLength(1);
    expect(lines.filter((line) => line.startsWith('locked'))).toHaveLength(3);
    for (const { child } of children) child.kill('SIGKILL');
    await Promise.all(children.map(({ ended }) => ended));
  });

  it('leaves files that it does not know alone', async () => {
    const folder = join(base, 'foreign');
    const journal = await file().open(folder);
    for (const name of ['lock', 'lock.txt', 'notes.md', 'log.old', 'log.0'])
      writeFileSync(join(folder, name), name);
    await journal.append(commitOf(1), { epoch: 0, n: 0 }, 'strict');
    await journal.close();
    await file().destroy(folder);
    expect(readdirSync(folder).sort()).toEqual(['lock', 'lock.txt', 'log.0', 'log.old', 'notes.md']);
    expect(readFileSync(join(folder, 'log.old'), 'utf8')).toBe('log.old');
  });

  it('knows processes by the moment they began', () => {
    expect(isRunning(process.pid, processStart())).toBe(true);
    expect(isRunning(process.pid, '1-00000000')).toBe(false);
    expect(isRunning(4_194_999, '0')).toBe(false);
    expect(isRunning(process.ppid, '0')).toBe(true);
  });
});
