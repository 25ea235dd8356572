/**
 * The import rule of docs/architecture.md: downward only, no cycles, no default exports, nothing of Node in what runs in a
 * browser. Read from the sources themselves.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { filesTogether } from './support/together';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Part of the tree → what it may import besides itself. Longest prefix counts. `node:` stands for all of Node. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  'packages/core/src/model': [],
  'packages/core/src/store': ['packages/core/src/model'],
  'packages/core/src/database': ['packages/core/src/model', 'packages/core/src/store'],
  'packages/core/src': ['packages/core/src/model', 'packages/core/src/store', 'packages/core/src/database'],
  'packages/engine/src': ['@settledb/core'],
  'packages/replication/src': ['@settledb/core'],
  'packages/query/src': ['@settledb/core'],
  'packages/dump/src': ['@settledb/core'],
  'packages/worker/src': ['@settledb/core', 'comlink'],
  'packages/remote/src': ['@settledb/core', '@hono/node-server', 'node:'],
  'packages/settledb/src': [
    '@settledb/core',
    '@settledb/engine',
    '@settledb/query',
    '@settledb/dump',
    '@settledb/replication',
    '@settledb/remote',
    '@settledb/worker',
    '@settledb/adapter-memory',
    '@settledb/adapter-indexeddb',
    '@settledb/adapter-file',
    '@settledb/adapter-opfs',
    'node:',
  ],
  'adapters/memory/src': ['@settledb/core', '@settledb/engine'],
  'adapters/indexeddb/src': ['@settledb/core', '@settledb/engine', 'idb'],
  'packages/log/src': ['@settledb/core', '@settledb/engine'],
  'adapters/file/src': ['@settledb/core', '@settledb/engine', '@settledb/log', 'node:'],
  'adapters/opfs/src': ['@settledb/core', '@settledb/engine', '@settledb/log'],
};

/** Entries of browsers: nothing they reach may be Node's. */
const BROWSER_ENTRIES = [
  'packages/settledb/src/entry.browser.ts',
  'packages/settledb/src/memory.ts',
  'packages/settledb/src/indexeddb.ts',
  'packages/settledb/src/opfs.ts',
  'packages/settledb/src/eval.ts',
  'packages/settledb/src/static.ts',
  'packages/settledb/src/worker.ts',
];

const files = ['packages', 'adapters']
  .flatMap((folder) => sources(join(root, folder)))
  .map((path) => relative(root, path));

function sources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory())
      return entry.name === 'node_modules' || entry.name === 'dist' ? [] : sources(path);
    return path.includes('/src/') && path.endsWith('.ts') && !path.endsWith('.d.ts') ? [path] : [];
  });
}

const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');

interface Import {
  readonly target: string;
  /** `import type`: gone at run time, so it makes no cycle. */
  readonly isType: boolean;
}

function importsOf(file: string): Import[] {
  const statements = textOf(file).matchAll(
    /^\s*(?:import|export)\s+(type\s+)?[^;]*?from\s+'([^']+)'|^import\s+'([^']+)'|\bimport\('([^']+)'\)/gm,
  );
  return [...statements].map(([, type, from, bare, dynamic]) => ({
    target: resolved(file, (from ?? bare ?? dynamic) as string),
    isType: type !== undefined,
  }));
}

function resolved(file: string, target: string): string {
  if (!target.startsWith('.')) return target;
  const path = relative(root, resolve(root, dirname(file), target));
  return [`${path}.ts`, join(path, 'index.ts'), path].find((each) => files.includes(each)) ?? path;
}

const isPackage = (target: string): boolean => !target.includes('/') || target.startsWith('node:');

const partOf = (file: string): string =>
  Object.keys(MAY_IMPORT)
    .filter((part) => file.startsWith(`${part}/`))
    .sort((a, b) => b.length - a.length)[0] ?? '';

/** What is beside the configuration and the documents that a reader looks for: a program run here may leave a database behind. */
const TOP_FOLDERS = ['adapters', 'docs', 'packages', 'perf', 'tests'];
/** Not under version control. */
const IGNORED_FOLDERS = ['coverage', 'data', 'node_modules'];

describe('the tree', () => {
  it('has these folders at the top and no others', () => {
    const folders = readdirSync(root, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
      .map((entry) => entry.name);
    expect(folders.filter((name) => !IGNORED_FOLDERS.includes(name)).sort()).toEqual(TOP_FOLDERS);
  });

  it('has sources to look at', () => expect(files.length).toBeGreaterThan(50));

  it.each(files)('%s imports only downward', (file) => {
    const part = partOf(file);
    expect(part, 'a folder that the import rule does not know').not.toBe('');
    const allowed = MAY_IMPORT[part] ?? [];
    const wrong = importsOf(file)
      .map(({ target }) => target)
      .filter((target) => !target.startsWith(`${part}/`))
      .filter(
        (target) =>
          !allowed.some(
            (each) => target === each || target.startsWith(each.endsWith(':') ? each : `${each}/`),
          ),
      );
    expect(wrong).toEqual([]);
  });

  it('has no cycles of imports', () => {
    const state = new Map<string, 'open' | 'done'>();
    const visit = (file: string, path: readonly string[]): void => {
      if (state.get(file) === 'done') return;
      expect(state.get(file), [...path, file].join(' → ')).not.toBe('open');
      state.set(file, 'open');
      for (const { target, isType } of importsOf(file))
        if (!isType && files.includes(target)) visit(target, [...path, file]);
      state.set(file, 'done');
    };
    for (const file of files) visit(file, []);
  });

  it('names files with their endings where Node itself loads the build, which it does from 22.18 on', () => {
    for (const file of ['tsdown.config.ts', 'together.ts']) {
      const targets = importsOf(`packages/settledb/${file}`).map(({ target }) => target);
      expect(targets.length, file).toBeGreaterThan(0);
      expect(targets.filter((target) => !existsSync(join(root, target)) && !isPackage(target))).toEqual([]);
    }
  });

  it('exports nothing by default but the class of the entries', () => {
    const wrong = files
      .filter((file) => /^export default/m.test(textOf(file)))
      .filter((file) => !/\/entry\.(node|browser)\.ts$/.test(file));
    expect(wrong).toEqual([]);
  });

  it('keeps index.ts to re-exports', () => {
    for (const file of files.filter((each) => each.endsWith('/index.ts'))) {
      const code = textOf(file)
        .replaceAll(/\/\*[\s\S]*?\*\//g, '')
        .trim();
      expect(
        code.replaceAll(/export\s+(?:type\s+)?(?:\*|\{[^}]*\})\s+from\s+'[^']+';/g, '').trim(),
        file,
      ).toBe('');
    }
  });

  it('replaces modules only in tests that have modules of their own: not in pages, which keep them', () => {
    const replacing = readdirSync(join(root, 'tests'), { recursive: true, encoding: 'utf8' })
      .map((name) => `tests/${name}`)
      .filter((file) => file.endsWith('.test.ts') && /\bvi\.(mock|doMock)\(/.test(textOf(file)));
    expect(replacing.length).toBeGreaterThan(1);
    expect(replacing.filter((file) => /\.(both|browser)\./.test(file))).toEqual([]);
    const together = filesTogether();
    expect(together.length).toBeGreaterThan(100);
    expect(together.filter((file) => replacing.includes(file))).toEqual([]);
  });

  it('reaches nothing of Node from the entries of browsers', () => {
    const seen = new Set<string>();
    const names: Record<string, string> = {
      '@settledb/core': 'packages/core/src/index.ts',
      '@settledb/core/static': 'packages/core/src/database/static.ts',
      '@settledb/engine/static': 'packages/engine/src/static.ts',
      '@settledb/engine': 'packages/engine/src/index.ts',
      '@settledb/query': 'packages/query/src/index.ts',
      '@settledb/dump': 'packages/dump/src/index.ts',
      '@settledb/replication': 'packages/replication/src/index.ts',
      '@settledb/replication/run': 'packages/replication/src/run.ts',
      '@settledb/worker': 'packages/worker/src/index.ts',
      '@settledb/remote/client': 'packages/remote/src/client.ts',
      '@settledb/remote/target': 'packages/remote/src/client-target.ts',
      '@settledb/adapter-memory': 'adapters/memory/src/index.ts',
      '@settledb/adapter-indexeddb': 'adapters/indexeddb/src/index.ts',
    };
    const visit = (file: string): void => {
      if (seen.has(file)) return;
      seen.add(file);
      expect(textOf(file), file).not.toMatch(/^\s*[^*/\n]*\b(?:process\.|Buffer\.|require\()/m);
      for (const { target, isType } of importsOf(file)) {
        if (isType) continue;
        expect(target, file).not.toMatch(/^node:|@hono|adapter-file/);
        const next = names[target] ?? target;
        if (files.includes(next)) visit(next);
      }
    };
    for (const entry of BROWSER_ENTRIES) visit(entry);
  });
});
