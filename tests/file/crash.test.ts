/**
 * kill -9 of a process that writes, at moments it did not choose: after some acknowledgement, or while a vacuum runs. The same
 * folder goes on through all kills. Whatever was acknowledged, strict or relaxed, must be there (I7).
 */
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { expect, it, vi } from 'vitest';
import { bundled, start } from './child';
import { home, namesIn, tail } from './support';

/** As many as asked for. Every third is in a vacuum. */
const KILLS = Number(process.env.KILLS ?? 60);
vi.setConfig({ testTimeout: 300_000 * Math.max(1, KILLS / 60) });
const base = home();

/** Everything in the log is what the child wrote there, and nothing that its manifest names is missing. */
async function checked(folder: string): Promise<{ n: number; epoch: number }> {
  const journal = await file().open(folder);
  const { epoch, manifest, commits } = await journal.read();
  const through = manifest?.through ?? 0;
  expect(commits).toEqual(
    commits.map((_, i) => ({
      n: through + 1 + i,
      head: `head ${through + 1 + i}`,
      tail: `tail ${through + 1 + i}`,
    })),
  );
  const n = commits.at(-1)?.n ?? through;
  const covered = manifest === undefined ? [] : (JSON.parse(manifest.text) as number[]);
  const fresh = commits.flatMap((each) => [0, 1, 2].slice(0, 1 + (each.n % 3)).map((i) => tail(each.n) + i));
  const texts = await journal.load([...covered, ...fresh]);
  for (const [i, id] of [...covered, ...fresh].entries()) {
    const text = texts[i];
    if (id < 0) expect(text).toBe(`page of ${-id}`);
    else if (id % 4096 === 0) expect(text).toBe(`tail ${id / 4096}`);
    else expect(text?.startsWith(`segment ${id} `) && text.endsWith(`segment ${id} `)).toBe(true);
  }
  expect((await journal.blockIds()).sort()).toEqual([...covered, ...fresh].sort());
  await journal.close();
  return { n, epoch };
}

it(`loses nothing that was acknowledged, ${KILLS} times killed`, async () => {
  const script = bundled('crash-child.ts', base);
  const folder = join(base, 'killed');
  let before = 0;
  let inVacuum = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    let [acknowledged, epoch, opened, acks] = [before, 0, -1, 0];
    const atVacuum = kill % 3 === 2;
    const wanted = 1 + ((kill * 7919) % 83);
    const { ended } = start(script, [folder, kill % 2 === 0 ? 'strict' : 'relaxed'], (line, child) => {
      const value = Number(line.slice(2));
      if (line[0] === 'o') opened = value;
      if (line[0] === 'a') acknowledged = value;
      if (line[0] === 'e') epoch = value;
      if (line[0] === 'a') acks++;
      if (atVacuum ? line === 'v' && acks >= wanted % 40 : acks >= wanted) {
        if (atVacuum && child.exitCode === null && !child.killed) inVacuum++;
        child.kill('SIGKILL');
      }
    });
    await ended;
    expect(opened).toBe(before);
    const found = await checked(folder);
    expect(found.n).toBeGreaterThanOrEqual(acknowledged);
    expect(found.n).toBeLessThanOrEqual(acknowledged + 1);
    expect(found.epoch).toBeGreaterThanOrEqual(epoch);
    expect(namesIn(folder)).toEqual([expect.stringMatching(/^log\.\d+$/)]);
    before = found.n;
  }
  expect(inVacuum).toBe(Math.floor(KILLS / 3));
  if (process.env.KILLS) console.info(`${KILLS} kills, ${before} commits`);
});
