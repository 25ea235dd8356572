/** The package as it is published: built into a folder of its own, and used from there by a plain Node program. */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { SourceMap, type SourceMapping } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { buildSync } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';

const packageFolder = resolve('packages/settledb');
const scratch = mkdtempSync(join(tmpdir(), 'settledb-package-'));
const installed = join(scratch, 'node_modules/settledb');

beforeAll(() => {
  mkdirSync(installed, { recursive: true });
  cpSync(join(packageFolder, 'package.json'), join(installed, 'package.json'));
  const tsdown = resolve('node_modules/tsdown/dist/run.mjs');
  const args = [tsdown, '--out-dir', join(installed, 'dist'), '--no-dts', '--silent'];
  execFileSync(process.execPath, args, { cwd: packageFolder, stdio: 'pipe' });
});

afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** A built file and all files it imports. */
function reachable(folder: string, name: string, found = new Map<string, string>()): Map<string, string> {
  if (found.has(name)) return found;
  const text = readFileSync(join(folder, name), 'utf8');
  found.set(name, text);
  for (const [, next] of text.matchAll(/(?:from|import)\s*\(?['"]\.\/([^'"]+)['"]/g))
    reachable(folder, next!, found);
  return found;
}

/** Runs a program in an empty folder beside the package. @returns what it printed, as JSON, and what it left there */
function run(program: string, ...flags: string[]): { printed: unknown; left: string[] } {
  const cwd = mkdtempSync(join(scratch, 'program-'));
  writeFileSync(join(cwd, 'program.mjs'), program);
  const printed = execFileSync(process.execPath, [...flags, 'program.mjs'], { cwd, encoding: 'utf8' });
  return { printed: JSON.parse(printed), left: readdirSync(cwd).filter((name) => name !== 'program.mjs') };
}

describe('the package', () => {
  it('names no file that is not published', () => {
    const described = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8'));
    const { exports, files, main, types, typesVersions } = described;
    const paths = (entry: unknown): string[] =>
      typeof entry === 'string' ? [entry] : Object.values(entry as object).flatMap(paths);
    expect(files).toEqual(['dist', 'docs']);
    expect(
      paths([exports, main, types, typesVersions]).filter(
        (path) => !/^\.\/(dist\/[a-z]+(\.d\.ts|\.js)|package\.json)$/.test(path),
      ),
    ).toEqual([]);
  });

  it('has a command line, which says its version', () => {
    const { bin, version } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8'));
    const program = join(installed, bin.settledb);
    expect(readFileSync(program, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
    expect(execFileSync(process.execPath, [program, '--version'], { encoding: 'utf8' })).toBe(`${version}\n`);
  });

  it('has types for every subpath, also where TypeScript reads no exports', () => {
    const { exports, main, types, typesVersions } = JSON.parse(
      readFileSync(join(packageFolder, 'package.json'), 'utf8'),
    );
    const { '.': root, './package.json': _, ...subpaths } = exports;
    expect({ default: main, types }).toEqual(root.default);
    for (const [name, { types }] of Object.entries<{ types: string }>(subpaths))
      expect(typesVersions['*'][name.slice(2)], name).toEqual([types]);
  });

  it('loads what it loads later in a program that has put values on Object.prototype', () => {
    const { printed } = run(`
      import { SettleDB } from 'settledb';
      Object.prototype.x = 1;
      Object.prototype.default = 'y';
      const db = new SettleDB('a', { adapter: 'memory' });
      await db.putAttachment('a', 't', null, 'aGk=', 'text/plain');
      const { results } = await db.changes({ doc_ids: ['a'] });
      const { docs } = await db.find({ selector: { _id: 'a' } });
      const { docs_written } = await db.replicate.to(new SettleDB('b', { adapter: 'memory' }));
      const dumped = (await new Response(db.dump()).arrayBuffer()).byteLength > 0;
      const refused = await new SettleDB('http://127.0.0.1:9/a').info().catch((error) => error.name);
      console.log(JSON.stringify([results.length, docs.length, docs_written, dumped, refused]));`);
    expect(printed).toEqual([1, 1, 1, true, 'unreachable']);
  });

  it.each(['node', 'browser'])('shows the class by its name, in %s', (condition) => {
    const { printed } = run(
      `import { inspect } from 'node:util';
      import { SettleDB } from 'settledb';
      const db = new SettleDB('a', { adapter: 'memory' });
      class Notes extends SettleDB {}
      const notes = new Notes('b', { adapter: 'memory' });
      console.log(JSON.stringify([db, notes].map((each) => inspect(each).split(' ')[0])));`,
      `--conditions=${condition}`,
    );
    expect(printed).toEqual(['SettleDB', 'Notes']);
  });

  it('is imported, and keeps documents, where there is no TextEncoder, as in the jsdom of Jest', () => {
    const { printed } = run(
      `delete globalThis.TextEncoder;
      delete globalThis.TextDecoder;
      for (const subpath of ['static', 'memory', 'indexeddb', 'journal', 'eval', 'worker'])
        await import('settledb/' + subpath);
      const { SettleDB } = await import('settledb');
      const db = new SettleDB('a', { adapter: 'memory' });
      await db.bulkDocs([{ _id: 'a', n: 1 }, { _id: 'b', n: 2 }]);
      const { docs } = await db.find({ selector: { n: 2 } });
      const { docs_written } = await db.replicate.to(new SettleDB('b', { adapter: 'memory' }));
      console.log(JSON.stringify([docs.length, docs_written]));`,
      '--conditions=browser',
    );
    expect(printed).toEqual([1, 2]);
  });

  it('brings the guides that its README names', () => {
    const readme = readFileSync(join(packageFolder, 'README.md'), 'utf8');
    const named = [...readme.matchAll(/\]\(docs\/([\w-]+)\.md\)/g)].map(([, name]) => name as string);
    expect(named.length).toBeGreaterThan(5);
    execFileSync(process.execPath, ['guides.mjs'], { cwd: packageFolder });
    for (const name of named)
      expect(readFileSync(join(packageFolder, `docs/${name}.md`), 'utf8').length).toBeGreaterThan(1000);
  });

  it('says its version', () => {
    const { version } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8'));
    expect(SettleDB.version).toBe(version);
  });

  it('keeps documents in a folder, in Node, without being told', () => {
    const { printed, left } = run(`
      import Default, { DatabaseError, SettleDB } from 'settledb';
      const db = new SettleDB('notes');
      await db.put({ _id: 'a', text: 'hello' });
      const missing = await db.get('b').catch((error) => error);
      await db.close();
      const again = new SettleDB('notes', { adapter: 'file' });
      const { text } = await again.get('a');
      await again.close();
      console.log(JSON.stringify([Default === SettleDB, missing instanceof DatabaseError, text]));
    `);
    expect(printed).toEqual([true, true, 'hello']);
    expect(left).toEqual(['notes']);
  });

  it('has the same classes behind every subpath', () => {
    const { printed } = run(`
      import { DatabaseError, SettleDB } from 'settledb';
      import { file } from 'settledb/file';
      import { indexeddb } from 'settledb/indexeddb';
      import { opfs } from 'settledb/opfs';
      import * as journal from 'settledb/journal';
      import { memory } from 'settledb/memory';
      import { createServer } from 'settledb/server';
      const db = new SettleDB('a', { adapter: memory() });
      await db.put({ _id: 'a' });
      const server = await createServer({ dir: 'served', port: 0, anonymous: true });
      const { docs_written } = await db.replicate.to(server.url + '/a');
      const refused = await new SettleDB(server.url + '/a').get('b').catch((error) => error);
      await server.close();
      await db.close();
      const kinds = [file(), indexeddb(), memory(), opfs()].map(({ name }) => name);
      const same = journal.DatabaseError === DatabaseError && refused instanceof DatabaseError;
      console.log(JSON.stringify([same, docs_written, refused.status, kinds]));
    `);
    expect(printed).toEqual([true, 1, 404, ['file', 'indexeddb', 'memory', 'opfs']]);
  });

  it('touches no storage by being imported, in Node or as browsers get it', () => {
    const program = `
      const touched = [];
      Object.defineProperty(globalThis, 'indexedDB', { get: () => touched.push('indexedDB') });
      await import('settledb');
      for (const path of ['memory', 'indexeddb', 'opfs', 'file', 'journal', 'eval', 'static', 'server']) await import('settledb/' + path);
      console.log(JSON.stringify(touched));
    `;
    for (const flags of [[], ['--conditions=browser']])
      expect(run(program, ...flags)).toEqual({ printed: [], left: [] });
  });

  it('gives browsers IndexedDB, and no module of Node', () => {
    for (const entry of ['browser.js', 'opfs.js'])
      for (const [file, text] of reachable(join(installed, 'dist'), entry))
        expect([file, /['"]node:/.test(text)]).toEqual([file, false]);

    const { printed } = run(
      `
        import { SettleDB } from 'settledb';
        console.log(JSON.stringify(new SettleDB('a').adapter));
        process.exit();
      `,
      '--conditions=browser',
    );
    expect(printed).toBe('indexeddb');
  });

  it('maps each function of its files to where it was written', () => {
    let functions = 0;
    for (const name of readdirSync(join(installed, 'dist')).filter((each) => each.endsWith('.js'))) {
      const file = join(installed, 'dist', name);
      if (!existsSync(`${file}.map`)) continue;
      const map = new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8')));
      for (const [at, line] of readFileSync(file, 'utf8').split('\n').entries()) {
        const [, before, called] = /^((?:async )?function )(\w{6,})\(/.exec(line) ?? [];
        if (called === undefined) continue;
        const { originalSource, originalLine } = map.findEntry(at, before!.length) as SourceMapping;
        const written = readFileSync(resolve(installed, 'dist', originalSource), 'utf8').split('\n');
        expect(written[originalLine], `${name}:${at + 1}`).toContain(called);
        functions++;
      }
    }
    expect(functions).toBeGreaterThan(500);
  });

  it('brings few files with an import', () => {
    const built = { write: false, bundle: true, splitting: true, format: 'esm', outdir: scratch } as const;
    const inputsOf = (name: string): string[] => {
      const { metafile } = buildSync({
        ...built,
        entryPoints: [join(installed, 'dist', name)],
        metafile: true,
      });
      const isOwn = ([path]: [string, unknown]): boolean => path.endsWith(`/${name}`);
      const [, output] = Object.entries(metafile.outputs).find(isOwn)!;
      const shared = output.imports.filter(({ kind }) => kind === 'import-statement');
      return [output, ...shared.map(({ path }) => metafile.outputs[path]!)].flatMap((each) =>
        Object.keys(each.inputs),
      );
    };
    expect(inputsOf('browser.js').length).toBeLessThan(7);
    expect(inputsOf('indexeddb.js').length).toBeLessThan(5);
    expect(inputsOf('memory.js').length).toBeLessThan(5);
  });

  it('leaves the database out of pages that only connect to one, or ask what an error is', () => {
    const imports = { './dist/worker.js': 'connect', './dist/browser.js': 'isDatabaseError' };
    const first = Object.entries(imports).map(([entry, name]) => {
      const { metafile, outputFiles } = buildSync({
        stdin: {
          contents: `import { ${name} } from '${entry}'; console.log(${name});`,
          resolveDir: installed,
        },
        ...{ bundle: true, splitting: true, format: 'esm', target: 'es2022', logLevel: 'error' },
        ...{ outdir: join(scratch, 'out'), write: false, metafile: true },
      });
      const wanted = new Set<string>();
      const visit = (path: string): void => {
        wanted.add(path);
        for (const { kind, path: next } of metafile.outputs[path]!.imports)
          if (kind === 'import-statement' && !wanted.has(next)) visit(next);
      };
      visit(Object.keys(metafile.outputs).find((path) => metafile.outputs[path]!.entryPoint === '<stdin>')!);
      return outputFiles
        .filter(({ path }) => [...wanted].some((each) => resolve(each) === path))
        .map(({ text }) => text)
        .join('');
    });
    for (const text of first) expect(text).toContain('isDatabaseError');
    const database = /class (LocalDatabase|SettleDB|LogStore)|(LocalDatabase|SettleDB|LogStore) = class/;
    for (const text of first) expect(database.exec(text)?.[0]).toBeUndefined();
    // Parts that code may need which is loaded later come with that.
    expect(/\b(DocFold|KeptDocs|Segments|StoredPage)\b/.exec(first[0]!)?.[0]).toBeUndefined();
  });

  it('has `storage`, which a page asks whose databases are in a worker, in a file without databases', () => {
    // Rollup, unlike esbuild, keeps the class of databases in whatever needs anything else of its file.
    const dist = join(installed, 'dist');
    const [, , file] = /import \{([^}]*\bstorage\b[^}]*)\} from "\.\/([^"]+)"/.exec(
      readFileSync(join(dist, 'browser.js'), 'utf8'),
    )!;
    expect(readFileSync(join(dist, file!), 'utf8')).not.toMatch(/class SettleDB|SettleDB\S* = class/);
  });

  it('gives IndexedDB also where a bundler names no platform, and Node its own', () => {
    const { printed } = run(`
      console.log(JSON.stringify(import.meta.resolve('settledb').split('/').at(-1)));
    `);
    expect(printed).toBe('node.js');
    const { metafile } = buildSync({
      stdin: { contents: "export * from 'settledb';", resolveDir: scratch },
      bundle: true,
      platform: 'neutral',
      metafile: true,
      write: false,
    });
    const inputs = Object.keys(metafile.inputs).filter((path) => /\/(browser|node)\.js$/.test(path));
    expect(inputs.map((path) => path.split('/').at(-1))).toEqual(['browser.js']);
  });

  it('needs no file later once settledb/static is imported, and says so where it is not', () => {
    const program = (imports: string): string => `
      import { renameSync } from 'node:fs';
      ${imports}
      const { SettleDB } = await import('settledb');
      const { memory } = await import('settledb/memory');
      const { createServer } = await import('settledb/server');
      const dist = ${JSON.stringify(join(installed, 'dist'))};
      const server = await createServer({ dir: 'served', port: 0, anonymous: true });
      renameSync(dist, dist + '-gone');
      const done = [];
      const note = (what) => (value) => done.push(value?.name === 'not_loaded' ? value.status : what);
      const db = new SettleDB('a', { adapter: memory() });
      const attached = { _id: 'a', _attachments: { f: { content_type: 'text/plain', data: 'aGk=' } } };
      await db.put(attached).then(note('attachment'), note('refused'));
      await db.find({ selector: { _id: 'a' } }).then(note('find'), note('refused'));
      await db.changes({ doc_ids: ['a'] }).then(note('filter'), note('refused'));
      await db.changes().then(note('changes'), note('refused'));
      await db.get('a', { conflicts: true }).then(note('conflicts'), note('refused'));
      await db.revsDiff({ a: ['1-a'] }).then(note('revsDiff'), note('refused'));
      await db.replicate.to(server.url + '/a').then(note('replication'), note('refused'));
      await new SettleDB(server.url + '/a').info().then(note('remote'), note('refused'));
      await new Response(db.dump()).text().then(note('dump'), note('refused'));
      await db.compact().then(note('compaction'), note('refused'));
      await new SettleDB('b', { adapter: 'memory' }).info().then(note('memory'), note('refused'));
      renameSync(dist + '-gone', dist);
      await server.close();
      await db.close();
      console.log(JSON.stringify(done));
    `;
    const words =
      'attachment find filter changes conflicts revsDiff replication remote dump compaction memory'.split(
        ' ',
      );
    const flag = '--conditions=browser'; // In Node memory by its name is at hand.
    expect(run(program("import 'settledb/static';"), flag).printed).toEqual(words);
    expect(run(program(''), flag).printed).toEqual(words.map(() => 503));
  });

  it('works bundled into one file, the parts that are loaded later too', () => {
    const home = mkdtempSync(join(scratch, 'bundled-'));
    const contents = `
      import { DatabaseError, SettleDB } from 'settledb';
      import { file } from 'settledb/file';
      const db = new SettleDB('a', { adapter: file() });
      const wrong = [];
      const note = (error) => wrong.push([error instanceof DatabaseError, error.name]);
      await db.get('b').catch(note);
      await db.put({ _id: 'a', _attachments: { f: { content_type: 'text/plain', data: 'aGk=' } } });
      await db.getAttachment('a', 'g').catch(note);
      await db.put({ _id: 'a' }).catch(note);
      await db.find({ selector: 1 }).catch(note);
      await db.query('no/view').catch(note);
      const held = await file().open('a').catch((error) => error);
      note(held);
      await db.compact();
      await db.destroy();
      console.log(JSON.stringify(wrong));
    `;
    buildSync({
      stdin: { contents, resolveDir: scratch },
      outfile: join(home, 'out.mjs'),
      bundle: true,
      minifyWhitespace: true, // without comments
      platform: 'node',
      format: 'esm',
      logLevel: 'error',
    });
    const code = readFileSync(join(home, 'out.mjs'), 'utf8');
    // A classic script of a page that names no encoding is read as Latin; regular expressions keep the letters they are written with.
    expect(code.match(/[^\0-\x7f]/g)).toBeNull();
    const { printed } = run(code);
    expect(printed).toEqual(
      ['not_found', 'not_found', 'conflict', 'bad_request', 'not_found', 'locked'].map((name) => [
        true,
        name,
      ]),
    );
  });
});
