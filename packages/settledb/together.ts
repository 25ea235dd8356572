/**
 * Which modules make one published file: those that the same entries bring along. Left to itself the bundler also tells apart which
 * of the parts that are loaded later need a module, and makes twenty files of what a browser loads at once: the names that they hand each
 * other are 1.4 KB, gzipped, in whatever a user's bundler makes of them, and without one they are twenty requests.
 */
import { realpathSync } from 'node:fs';
import { build, type Plugin } from 'esbuild';

/** A group of files as rolldown takes it. */
interface Group {
  readonly name: string;
  readonly priority: number;
  test(id: string): boolean;
}

/** @param entries that share files: name → source. Only what the first has is put together, so that others get nothing besides theirs */
export async function together(entries: Readonly<Record<string, string>>): Promise<Group[]> {
  const holders = new Map<string, string[]>();
  for (const [name, source] of Object.entries(entries)) {
    for (const id of await modulesOf(source)) holders.set(id, [...(holders.get(id) ?? []), name]);
  }
  const [first] = Object.keys(entries);
  const groupOf = (id: string): string | undefined => {
    const names = holders.get(id) ?? [];
    return names.length > 1 && names[0] === first ? names.join('-') : undefined;
  };
  const names = new Set([...holders.keys()].map(groupOf));
  return [...names].flatMap((name) => {
    if (name === undefined) return [];
    // What more entries have comes first: a group takes along what its modules need.
    return { name, priority: name.split('-').length, test: (id) => groupOf(id) === name };
  });
}

/** Of which modules something comes with the import. */
async function modulesOf(source: string): Promise<string[]> {
  const { metafile } = await build({
    entryPoints: [source],
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    external: ['node:*'],
    plugins: [withoutLater],
    logLevel: 'error',
  });
  const [output] = Object.values(metafile.outputs);
  return Object.entries(output?.inputs ?? {}).flatMap(([path, { bytesInOutput }]) =>
    bytesInOutput > 0 ? realpathSync(path) : [],
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
