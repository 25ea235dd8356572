/** Files of tests in Node that share their modules and a thread, because nothing in them needs its own (decisions/0026). */
import { readdirSync, readFileSync } from 'node:fs';

const tests = new URL('..', import.meta.url);

/** Of pure functions and of the server. */
const FOLDERS = ['model', 'mango', 'query', 'database', 'remote'];

/** What replaces a module comes too late where it is loaded, and replaces it for those that follow; and a timer of another file's database, which fires while timers are not real, is one more for who counts them. */
const NEEDS_ITS_OWN = /\bvi\.(?:mock|doMock)\(|\bgetTimerCount\(/;

/** @returns their paths, from the root of the repository */
export function filesTogether(): string[] {
  const all = FOLDERS.flatMap((folder) =>
    readdirSync(new URL(`${folder}/`, tests), { recursive: true, encoding: 'utf8' }).map(
      (name) => `${folder}/${name}`,
    ),
  );
  return all
    .filter(
      (name) => name.endsWith('.test.ts') && !NEEDS_ITS_OWN.test(readFileSync(new URL(name, tests), 'utf8')),
    )
    .map((name) => `tests/${name}`);
}
