/**
 * The sources as a program that each tab runs for itself: modules of its own, and the tab's globals in place of the real ones. It is
 * bundled and compiled once, and what runs is a call of one function.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';
import type { Tab } from './tab';

/**
 * Constants by file, or the end of its path, that decide how much makes a page, a block, a checkpoint, a chunk of content. With a hundredth of that, a few commits
 * come to what otherwise takes ten thousand: blocks of fences, rewrites in slices, texts in pieces, contents that are not kept in memory.
 */
const SMALL: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  'page.ts': { PAGE_ROWS: 6, PAGES_LOADED_MAX: 12 },
  'stored-page.ts': { GROUP_ROWS: 2, PAGE_GROUPS: 3 },
  'fences.ts': { FENCES_PER_BLOCK: 3 },
  'texts.ts': { SEGMENT_LENGTH: 300, TAIL_TEXTS_MAX: 3 },
  'log-length.ts': { COMMITS_MIN: 12, ROWS_MIN: 60, IDLE_COMMITS_MIN: 5, IDLE_ROWS_MIN: 20 },
  'checkpoint.ts': { COMMITS_MAX: 30, BUSY_COMMITS_MIN: 24, BUSY_COMMITS_MAX: 100 },
  'new-blocks.ts': { SLICE_LENGTH: 400, SLICE_LENGTH_CROWDED: 2000 },
  'block-use.ts': { DEAD_LENGTH_MIN: 3000 },
  'rewrite.ts': { INLINE_LENGTH_MAX: 200 },
  'pieces.ts': { BYTES_MAX: 260 },
  'reserve.ts': { RECORD_BYTES: 1024 },
  'room.ts': { RESERVE_FIRST: 2000 },
  'rewrite-alone.ts': { RESERVING_COMMITS: 20, RESERVE_MIN: 1024 },
  'core/src/store/store.ts': { CHUNK_BYTES: 240 },
  'core/src/database/compact.ts': { SLICE_DOCS: 10, SLICE_BODIES: 15 },
  'core/src/database/sweep.ts': { SLICE_ROWS: 4 },
  'engine/src/blobs.ts': { STAGED_BYTES: 500, CACHED_BYTES: 400, CACHED_MAX: 200 },
};

const SMALLER =
  /\/(?:packages\/engine\/src|packages\/core\/src\/(?:store|database)|adapters\/indexeddb\/src)\/[^/]+\.ts$/;

export class Program<Exports> {
  readonly #names: readonly string[];
  readonly #make: (...globals: unknown[]) => Exports;

  private constructor(source: string, names: readonly string[]) {
    this.#names = names;
    this.#make = new Function('globalThis', ...names, `${source}\nreturn program;`) as never;
  }

  /** @param contents imports from the root of the repository, and exports what `run` answers */
  static async of<Exports>(contents: string, { globals }: Tab): Promise<Program<Exports>> {
    const { outputFiles } = await build({
      stdin: { contents, resolveDir: fileURLToPath(new URL('../../..', import.meta.url)), loader: 'ts' },
      bundle: true,
      write: false,
      format: 'iife',
      globalName: 'program',
      target: 'es2022',
      plugins: [small()],
    });
    return new Program(outputFiles[0]!.text, Object.keys(globals));
  }

  /** Its modules, made anew for this tab. */
  run({ globals }: Tab): Exports {
    return this.#make({ ...globals, Promise, queueMicrotask }, ...this.#names.map((name) => globals[name]));
  }
}

const small = (): Plugin => ({
  name: 'small',
  setup({ onLoad }) {
    onLoad({ filter: SMALLER }, ({ path }) => {
      let contents = readFileSync(path, 'utf8');
      const small = Object.entries(SMALL).filter(([file]) => path.endsWith(`/${file}`));
      for (const [name, value] of small.flatMap(([, constants]) => Object.entries(constants))) {
        const before = contents;
        contents = contents.replace(new RegExp(`(const ${name} = )[^;]+;`), `$1${value};`);
        // Else a constant that has another name today would be as large as ever.
        if (contents === before) throw new Error(`${path} has no constant ${name}`);
      }
      return { contents, loader: 'ts' };
    });
  },
});
