/**
 * Which modules make one published file: those that the same entries bring along. Left to itself the bundler also tells apart which
 * of the parts that are loaded later need a module, and makes twenty files of what a browser loads at once: the names that they hand each
 * other are 1.4 KB, gzipped, in whatever a user's bundler makes of them, and without one they are twenty requests.
 *
 * A user's bundler takes whole files apart, but it loads a file at once if any part of it is needed at once. So what `connect` needs has files
 * of its own: a page that connects to its worker would otherwise load the code of databases, which it may need later, with its first script.
 */
import { realpathSync } from 'node:fs';
import { build, type Plugin } from 'esbuild';

/** A group of files as rolldown takes it. */
interface Group {
  readonly name: string;
  readonly priority: number;
  test(id: string): boolean;
}

/** What so many entries need is one file: a few hundred bytes that one of them lacks are not worth a file. */
const COMMON = 4;

/** What is imported of a source: `* from './src/…'`, `{ a } from './src/…'`. */
type Imported = string;

/**
 * @param entries that share files. Only what the first has is put together, so that others get nothing besides theirs
 * @param parts of one more entry, of which pages take the one and workers the other: what they have beside those lies in files of theirs
 */
export async function together(
  entries: Readonly<Record<string, Imported>>,
  parts: { readonly connect: Imported; readonly host: Imported },
): Promise<Group[]> {
  const [first = ''] = Object.keys(entries);
  const holders = await holdersOf({ ...entries, ...parts });
  const later = new Set(await modulesOf(entries[first]!, true));
  const groupOf = (id: string): string | undefined => {
    const names = holders.get(id) ?? [];
    // A host needs nearly all that a page needs which has its databases itself.
    const others = names.filter((name) => name !== 'host');
    if (names[0] === first) return others.length >= COMMON ? 'common' : others.join('-');
    if (!names.some((name) => name in parts)) return undefined;
    return (later.has(id) ? ['later', ...names] : names).join('-');
  };
  const names = new Set([...holders.keys()].map(groupOf));
  return [...names].flatMap((name) => {
    if (name === undefined) return [];
    // What more entries have comes first: a group takes along what its modules need.
    const priority = name === 'common' ? COMMON : name.split('-').length;
    return { name, priority, test: (id) => groupOf(id) === name };
  });
}

async function holdersOf(entries: Readonly<Record<string, Imported>>): Promise<Map<string, string[]>> {
  const holders = new Map<string, string[]>();
  for (const [name, imported] of Object.entries(entries)) {
    for (const id of await modulesOf(imported)) holders.set(id, [...(holders.get(id) ?? []), name]);
  }
  return holders;
}

/** Of which modules something comes with the import. */
async function modulesOf(imported: Imported, withLater = false): Promise<string[]> {
  const { metafile } = await build({
    stdin: { contents: `export ${imported}`, resolveDir: import.meta.dirname },
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    external: ['node:*'],
    plugins: withLater ? [] : [withoutLater],
    logLevel: 'error',
  });
  const [output] = Object.values(metafile.outputs);
  return Object.entries(output?.inputs ?? {}).flatMap(([path, { bytesInOutput }]) =>
    bytesInOutput > 0 && path !== '<stdin>' ? realpathSync(path) : [],
  );
}

const withoutLater: Plugin = {
  name: 'without-later',
  setup({ onResolve }) {
    onResolve({ filter: /./ }, ({ kind, path }) =>
      kind === 'dynamic-import' ? { path, external: true } : undefined,
    );
  },
};
