/**
 * The TypeScript of the guides, checked as a reader's project would: each block in a scope of its own, beside what the text around it
 * takes for given. The guide to apps is JavaScript, which
 * tests/demo/pwa.test.ts runs.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

/** What blocks refer to and the text around them says, or the block before. */
const GIVEN: Readonly<Record<string, string>> = {
  'README.md': `
    import { SettleDB } from 'settledb';
    interface Note { text: string; tags?: string[] }
    const db = new SettleDB<Note>('notes');`,
  'docs/conflicts.md': `
    import { SettleDB } from 'settledb';
    import { isDatabaseError } from 'settledb';
    interface Note { text: string; edited?: string; tags?: string[]; done?: boolean }
    const db = new SettleDB<Note>('notes');
    const id = 'a';
    declare const signal: AbortSignal;
    declare function settle<T extends object>(
      db: SettleDB<T>,
      id: string,
      merge: (versions: readonly T[]) => T,
    ): Promise<void>;
    declare function merge(versions: readonly Note[]): Note;
    declare function newest(versions: readonly Note[]): Note;`,
  'docs/queries.md': `
    import { type LiveQuery, SettleDB } from 'settledb';
    import { useMemo, useSyncExternalStore } from 'react';
    import { onScopeDispose, shallowRef, type ShallowRef } from 'vue';
    interface Note { type: string; date: string; tags: string[] }
    const db = new SettleDB<Note>('notes');
    declare const signal: AbortSignal;
    declare function render(notes: readonly Note[]): void;
    declare function draw(rows: readonly object[]): void;`,
  'docs/server.md': `
    declare const handler: import('settledb/server').Handler;
    declare const app: {
      all(path: string, handle: (context: { req: { raw: Request } }) => Promise<Response>): void;
      all(path: RegExp, handle: (req: import('node:http').IncomingMessage, res: import('node:http').ServerResponse) => void): void;
      register(plugin: (scope: Scope) => Promise<void>, options: { prefix: string }): Promise<void>;
    };
    interface Scope {
      removeAllContentTypeParsers(): void;
      addContentTypeParser(type: string, parse: (request: object, payload: object, done: (error: null) => void) => void): void;
      all(path: string, handle: (request: { raw: { url?: string } }, reply: { raw: object; hijack(): void }) => void): void;
    }
    declare const listener: (req: object, res: object) => void;`,
  'docs/worker.md': "declare const db: import('settledb').SettleDB;",
  'docs/migration.md': `
    declare const db: import('settledb').SettleDB;
    declare const old: any;`,
  'docs/dumps.md': `
    import { SettleDB } from 'settledb';
    const db = new SettleDB('notes');
    const [username, password] = ['me', 'secret'];
    declare const signal: AbortSignal;`,
};
/** Libraries as a project has them: what TypeScript takes when nobody says, what Vite's templates say, and Node alone. */
const LIBS: Readonly<Record<string, string[] | undefined>> = {
  'those that are the default': undefined,
  'a page, as in templates': ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
  'Node alone': ['lib.es2022.d.ts'],
};

/** Packages of others that are not installed here. */
const OTHERS = `
  declare module '@hono/node-server' {
    export function getRequestListener(
      handle: (request: Request) => Promise<Response>,
      options?: { overrideGlobalObjects?: boolean },
    ): (req: object, res: object) => void;
  }
  declare module 'vue' {
    export interface ShallowRef<T> {
      value: T;
    }
    export function shallowRef<T>(): ShallowRef<T | undefined>;
    export function onScopeDispose(end: () => void): void;
  }
  declare module 'pouchdb' {
    const PouchDB: new (name: string) => any;
    export default PouchDB;
  }
  interface ImportMeta { readonly url: string }`;

interface Sample {
  readonly title: string;
  readonly text: string;
  readonly isForNode: boolean;
}

function samplesOf(guide: string): Sample[] {
  const blocks = [...readFileSync(guide, 'utf8').matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code!);
  expect(blocks.length, guide).toBeGreaterThan(1);
  return blocks.map((code, i) => {
    const all = `${GIVEN[guide]}\n${code}`;
    const imports = new Set([...all.matchAll(IMPORT)].map(([line]) => line.trim()));
    const given = GIVEN[guide]!.replaceAll(IMPORT, '');
    // In a scope of its own a block may make anew what is given.
    const text = `${[...imports].join('\n')}\n${given}\n{\n${code.replaceAll(IMPORT, '')}\n}\nexport {};`;
    return { title: `${guide}, block ${i + 1}`, text, isForNode: /'node:|settledb\/server/.test(text) };
  });
}

const IMPORT = /^\s*import .*;.*$/gm;

/** Files that are no samples, read and bound once for all programs: what they are given differs in their libraries alone. */
const parsed = new Map<string, ts.SourceFile | undefined>();

/** What the compiler says of the samples, by their titles. */
function complaints(samples: readonly Sample[], lib: string[] | undefined): string[] {
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    types: ['node'],
    paths: {
      settledb: [resolve('packages/settledb/src/entry.browser.ts')],
      'settledb/*': [resolve('packages/settledb/src/*')],
    },
    ...(lib && { lib }),
  };
  const texts = new Map(samples.map(({ text }, i) => [resolve(`tests/sample-${i}.ts`), text]));
  texts.set(resolve('tests/sample-others.d.ts'), OTHERS);
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => texts.has(path) || fileExists(path);
  host.readFile = (path) => texts.get(path) ?? readFile(path);
  host.getSourceFile = (path, version, ...more) => {
    const text = texts.get(path);
    if (text !== undefined) return ts.createSourceFile(path, text, version);
    if (!parsed.has(path)) parsed.set(path, getSourceFile(path, version, ...more));
    return parsed.get(path);
  };
  const program = ts.createProgram([...texts.keys()], options, host);
  return samples.flatMap(({ title, text }, i) => {
    const file = program.getSourceFile(resolve(`tests/sample-${i}.ts`))!; // it is a root
    const found = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
    return found.map(({ start = 0, messageText }) => {
      const line = text.slice(0, start).split('\n').length - 1;
      return `${title}: ${ts.flattenDiagnosticMessageText(messageText, ' ')} (${text.split('\n')[line]})`;
    });
  });
}

describe('the TypeScript of the guides', () => {
  const samples = Object.keys(GIVEN).flatMap(samplesOf);

  it.each(Object.entries(LIBS))('compiles with the libraries of %s', (name, lib) => {
    const some = name === 'Node alone' ? samples.filter(({ isForNode }) => isForNode) : samples;
    expect(complaints(some, lib)).toEqual([]);
  });
});
