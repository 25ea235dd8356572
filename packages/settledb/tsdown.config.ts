import { defineConfig } from 'tsdown';
import { together } from './together.ts';

const entry = {
  browser: 'src/entry.browser.ts',
  node: 'src/entry.node.ts',
  memory: 'src/memory.ts',
  indexeddb: 'src/indexeddb.ts',
  opfs: 'src/opfs.ts',
  file: 'src/file.ts',
  journal: 'src/journal.ts',
  eval: 'src/eval.ts',
  static: 'src/static.ts',
  server: 'src/server.ts',
  worker: 'src/worker.ts',
  cli: 'src/cli.ts',
};
const { browser, node, memory, indexeddb, worker } = entry;
const whole = (source: string): string => `* from './${source}'`;
/**
 * What shares files, and what a page takes of the worker's entry, which has hosts besides. Only a page can ask to keep the storage: `storage`
 * lies with what it takes, since Rollup keeps the class of databases, for its static fields, in whatever needs anything else of its file.
 */
const files = await together(
  { browser: whole(browser), node: whole(node), memory: whole(memory), indexeddb: whole(indexeddb) },
  {
    connect: `{ connect } from './${worker}'; export { storage } from './src/storage.ts'`,
    host: `{ host } from './${worker}'`,
  },
);

/**
 * Rolldown's runtime takes what a module exports by `for … in`, and with it whatever a page has put on `Object.prototype`: a value
 * there is no getter, and every module that is loaded later would fail.
 */
const ownExports = {
  name: 'own-exports',
  renderChunk(code: string, { name }: { readonly name: string }): string | undefined {
    if (name !== 'rolldown-runtime') return undefined;
    const mended = code.replaceAll('for (var name in all)', 'for (var name of Object.keys(all))');
    if (mended === code)
      throw new Error('The runtime of rolldown is another one: does it still export what is inherited?');
    return mended;
  },
};

/**
 * Rolldown keeps an import of each file that a module came from, also if nothing is left of it. No file but that of `static` does anything
 * when it is imported; yet esbuild, although it ignores such imports, puts what they name into a user's first script.
 */
const namedImports = {
  name: 'named-imports',
  renderChunk(code: string, { name }: { readonly name: string }): string | undefined {
    // The lines stay, empty, as the source map counts them.
    return name === 'static' ? undefined : code.replaceAll(/^import "\.\/[^"]+";$/gm, '');
  },
};

/** Declarations get no maps, as what they were made from is not published; rolldown names one in each all the same. */
const unmappedTypes = {
  name: 'unmapped-types',
  generateBundle(_options: unknown, bundle: Readonly<Record<string, { code?: string }>>): void {
    for (const [name, file] of Object.entries(bundle))
      if (name.endsWith('.d.ts')) file.code = file.code?.replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n');
  },
};

/** `Symbol.asyncDispose`, for programs whose `lib` is older. */
const DISPOSABLE = '/// <reference lib="esnext.disposable" />';
/**
 * What these answer has types that `settledb` exports. A program that imports that nowhere could not name them in declarations of its
 * own (TS2742). The browser's file is the one that all ways to resolve modules find by that name.
 */
const NAMING = "import type {} from './browser.js';";
const NEED_NAMES = ['worker.d.ts', 'server.d.ts'];

/**
 * One package out of all workspaces: they are private, so their code and types are bundled in. Both entries and all
 * subpaths are built together, so that what they share lies in shared files and a class is the same whichever way it is imported.
 */
export default defineConfig({
  entry,
  outDir: 'dist',
  format: 'esm',
  platform: 'neutral',
  target: 'es2022',
  clean: true,
  sourcemap: true,
  noExternal: [/^@settledb\//, 'idb', 'comlink', '@hono/node-server'],
  external: [/^node:/],
  // `query-….js`, which whole packages are, says more in a network panel than `src-….js`.
  outputOptions: {
    chunkFileNames: (chunk) => `${nameOf(chunk)}-[hash].js`,
    advancedChunks: { groups: files },
  },
  plugins: [ownExports, namedImports, unmappedTypes],
  inputOptions: { resolve: { mainFields: ['module', 'main'] } },
  // Not eager, types of other workspaces come out empty (rolldown-plugin-dts 0.16).
  dts: {
    resolve: true,
    eager: true,
    banner: ({ fileName }) => [DISPOSABLE, ...(NEED_NAMES.includes(fileName) ? [NAMING] : [])].join('\n'),
  },
});

interface Chunk {
  readonly name: string;
  readonly facadeModuleId?: string | null;
  readonly moduleIds: readonly string[];
}

function nameOf({ name, facadeModuleId, moduleIds }: Chunk): string {
  const index = [facadeModuleId, ...moduleIds].findLast((id) => id?.endsWith('/src/index.ts'));
  return name === 'src' ? (index?.split('/').at(-3) ?? name) : name.replace(/\.d$/, '');
}
