/** The peers ship no types, and need none here. */
declare module 'better-sqlite3' {
  interface Statement {
    run(...values: unknown[]): unknown;
    get(...values: unknown[]): unknown;
    all(...values: unknown[]): unknown[];
    pluck(): Statement;
  }
  export default class Database {
    constructor(path: string);
    pragma(source: string): unknown;
    exec(source: string): unknown;
    prepare(source: string): Statement;
    transaction<Values extends unknown[]>(work: (...values: Values) => void): (...values: Values) => void;
    close(): void;
  }
}
declare module 'pouchdb-adapter-indexeddb' {
  const plugin: object;
  export default plugin;
}
declare module 'pouchdb-browser' {
  const PouchDB: {
    // biome-ignore lint/suspicious/noExplicitAny: no types, as said.
    new (name: string, options?: object): any;
    plugin(plugin: object): void;
    adapter(name: string, adapter: unknown): void;
  };
  export default PouchDB;
}
declare module 'worker-pouch' {
  const adapter: unknown;
  export default adapter;
}
declare module 'pouchdb-adapter-memory' {
  const plugin: object;
  export default plugin;
}
declare module 'dexie' {
  interface Collection<T> {
    limit(count: number): Collection<T>;
    primaryKeys(): Promise<unknown[]>;
    toArray(): Promise<T[]>;
  }
  interface Table<T> {
    bulkAdd(rows: T[]): Promise<unknown>;
    get(key: string): Promise<T | undefined>;
    put(row: T): Promise<unknown>;
    orderBy(field: string): Collection<T>;
    where(field: string): { aboveOrEqual(value: unknown): Collection<T> };
  }
  export class Dexie {
    constructor(name: string);
    version(number: number): { stores(schema: Record<string, string>): void };
    table<T>(name: string): Table<T>;
    close(): void;
    delete(): Promise<void>;
  }
}
declare module 'pouchdb' {
  const PouchDB: { new (name: string, options?: object): unknown; plugin(plugin: object): void };
  export default PouchDB;
}
declare module 'pouchdb-find' {
  const plugin: object;
  export default plugin;
}
declare module 'rxdb/plugins/core' {
  interface RxDocument {
    readonly score: number;
    patch(change: object): Promise<unknown>;
    remove(): Promise<unknown>;
  }
  interface Collection {
    insert(doc: object): Promise<unknown>;
    bulkInsert(docs: readonly object[]): Promise<unknown>;
    find(query: object): { exec(): Promise<readonly RxDocument[]> };
    findOne(id: string): { exec(): Promise<RxDocument | null> };
    count(): { exec(): Promise<number> };
  }
  export function createRxDatabase(options: object): Promise<{
    addCollections(collections: object): Promise<Record<string, Collection> & { docs: Collection }>;
    remove(): Promise<unknown>;
  }>;
}
declare module 'rxdb/plugins/storage-dexie' {
  export function getRxStorageDexie(): object;
}
declare module 'rxdb/plugins/storage-memory' {
  export function getRxStorageMemory(): object;
}
declare module 'libsql' {
  import BetterSqlite from 'better-sqlite3';
  export default BetterSqlite;
}
declare module '@tursodatabase/database' {
  export function connect(path: string): Promise<unknown>;
}
declare module 'classic-level' {
  interface Iterator<T> {
    all(): Promise<T[]>;
  }
  interface Level<K, V> {
    get(key: K): Promise<V | undefined>;
    getMany(keys: readonly K[]): Promise<(V | undefined)[]>;
    batch(operations: never): Promise<void>;
    keys(range?: object): Iterator<K>;
    values(range?: object): Iterator<V>;
    sublevel<K, V>(name: string, options: object): Level<K, V>;
  }
  export interface ClassicLevel<K, V> extends Level<K, V> {}
  export class ClassicLevel<K, V> {
    constructor(path: string, options: object);
    open(): Promise<void>;
    close(): Promise<void>;
  }
}
declare module '@seald-io/nedb' {
  export default class Nedb<T> {
    constructor(options: object);
    loadDatabaseAsync(): Promise<void>;
    insertAsync(docs: T | T[]): Promise<unknown>;
    findAsync(query: object): Promise<T[]> & { sort(fields: object): Promise<T[]> };
    findOneAsync(query: object): Promise<T | null>;
    updateAsync(query: object, change: object): Promise<unknown>;
    removeAsync(query: object, options: object): Promise<unknown>;
    countAsync(query: object): Promise<number>;
    ensureIndexAsync(options: object): Promise<void>;
  }
}
declare module 'lokijs' {
  interface Collection<T> {
    insert(docs: T | T[]): unknown;
    by(field: string, value: unknown): T | undefined;
    find(query?: object): T[];
    ensureIndex(field: keyof T): void;
    update(doc: T): unknown;
    remove(doc: T): unknown;
    count(): number;
    chain(): { simplesort(field: keyof T, options: object): { data(): T[] } };
  }
  export default class Loki {
    constructor(name: string);
    addCollection<T>(name: string, options: object): Collection<T>;
    close(): void;
  }
}
declare module 'lowdb/node' {
  export function JSONFilePreset<T>(path: string, empty: T): Promise<{ data: T; write(): Promise<void> }>;
}
declare module 'tinybase' {
  export interface Store {
    transaction(work: () => void): void;
    setRow(table: string, id: string, row: object): void;
    setPartialRow(table: string, id: string, row: object): void;
    setCell(table: string, id: string, cell: string, value: unknown): void;
    delRow(table: string, id: string): void;
    getTable(table: string): Record<string, object>;
    getRow(table: string, id: string): object;
    getCell(table: string, id: string, cell: string): unknown;
    getRowIds(table: string): string[];
    getSortedRowIds(table: string, cell?: string, descending?: boolean): string[];
    getRowCount(table: string): number;
    forEachRow(table: string, each: (id: string) => void): void;
  }
  export function createStore(): Store;
  export function createIndexes(store: Store): {
    setIndexDefinition(
      index: string,
      table: string,
      slice: string | (() => string),
      sortKey?: string,
      sliceSorter?: undefined,
      rowSorter?: (a: unknown, b: unknown) => number,
    ): void;
    getSliceRowIds(index: string, slice: string): string[];
  };
}
declare module 'tinybase/persisters/persister-file' {
  export function createFilePersister(
    store: object,
    path: string,
    failed: (error: unknown) => void,
  ): { load(): Promise<unknown>; save(): Promise<unknown>; destroy(): Promise<unknown> };
}
declare module 'tinybase/persisters/persister-indexed-db' {
  export function createIndexedDbPersister(
    store: object,
    database: string,
    seconds: number,
    failed: (error: unknown) => void,
  ): { load(): Promise<unknown>; save(): Promise<unknown>; destroy(): Promise<unknown> };
}
declare module '@sqlite.org/sqlite-wasm' {
  interface Statement {
    bind(values: readonly unknown[]): Statement;
    step(): boolean;
    stepReset(): Statement;
    get(into: object): object;
    reset(): Statement;
    finalize(): void;
  }
  interface Pool {
    OpfsSAHPoolDb: new (
      path: string,
    ) => {
      exec(source: string): unknown;
      prepare(source: string): Statement;
      transaction(work: () => void): void;
      close(): void;
    };
    unlink(path: string): boolean;
  }
  export default function init(options: object): Promise<{
    installOpfsSAHPoolVfs(options: object): Promise<Pool>;
  }>;
}
declare module '@sqlite.org/sqlite-wasm/sqlite3.wasm' {
  const address: string;
  export default address;
}
