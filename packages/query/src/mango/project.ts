/** `fields` of a `find`: which parts of a document are answered. */
import { fieldAt, fieldPath, lowerBound, show } from '@settledb/core';
import { invalid } from './fields';

type Fields = Record<string, unknown>;
type Paths = readonly (readonly string[])[];
export type Project = <D extends object>(doc: D) => D;

/**
 * @returns documents made of the paths named, nested as they were; absent ones are left out
 * @throws DatabaseError 400 if `fields` is not a list of names
 */
export function projection(fields: unknown): Project {
  const paths = projectedPaths(fields);
  if (paths === undefined) return (doc) => doc;
  const pathsIn = paths.length > FEW ? finderOf(paths) : () => paths;
  return <D extends object>(doc: D): D => {
    const result: Fields = {};
    for (const path of pathsIn(doc)) {
      const value = fieldAt(doc, path);
      if (value !== undefined) place(result, path, value);
    }
    return result as D;
  };
}

/** Paths that are simply tried in each document. Hundreds of thousands took 50 ms of each: then it is the document that is gone through. */
const FEW = 32;

/** Finds which of the paths lead somewhere in a document, in their order. None is the beginning of another. */
function finderOf(paths: Paths): (doc: object) => Paths {
  const places = new Map(paths.map((path, at) => [keyOf(path), at]));
  const keys = [...places.keys()].sort();
  return (doc) => {
    const found: number[] = [];
    const open: [string, object][] = [['', doc]];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const [before, parent] = next;
      for (const [name, value] of Object.entries(parent)) {
        const key = before + JSON.stringify(name);
        const first = keys[lowerBound(keys, key)];
        if (first === key) found.push(places.get(key)!);
        else if (first?.startsWith(key) && typeof value === 'object' && value !== null)
          open.push([key, value]);
      }
    }
    return found.sort((one, other) => one - other).map((at) => paths[at]!);
  };
}

/** The paths that {@link projection} takes from a document, in order; `undefined`: all of it. */
export function projectedPaths(fields: unknown): Paths | undefined {
  if (fields === undefined || fields === 'all_fields') return undefined;
  if (!Array.isArray(fields) || fields.some((each) => typeof each !== 'string'))
    throw invalid('invalid_fields_json', `Fields must be an array of strings, not: ${show(fields)}`);
  // As in CouchDB: an empty list means all fields.
  if (fields.length === 0) return undefined;
  const all = new Map(fields.map(fieldPath).map((path) => [keyOf(path), path]));
  const kept = new Set<string>();
  // In order, what a path brings along follows it at once. Each compared with each, a list of 40,000 kept a server busy for 20 s.
  let last: string | undefined;
  for (const key of [...all.keys()].sort()) {
    if (last !== undefined && key.startsWith(last)) continue;
    last = key;
    kept.add(key);
  }
  return [...all].flatMap(([key, path]) => (kept.has(key) ? [path] : []));
}

/** Begins with the key of another path exactly if the path does: where a name's JSON ends is plain from itself. */
const keyOf = (path: readonly string[]): string => path.map((name) => JSON.stringify(name)).join('');

/** Puts a value at a path, creating the objects on the way. */
export function place(into: object, path: readonly string[], value: unknown): void {
  let parent = into as Fields;
  for (const name of path.slice(0, -1)) {
    parent = (Object.hasOwn(parent, name) ? parent[name] : define(parent, name, {})) as Fields;
  }
  define(parent, path.at(-1)!, value); // a path has at least one part
}

/** Like `parent[name] = value`, but works for `__proto__` too. */
function define(parent: Fields, name: string, value: unknown): unknown {
  Object.defineProperty(parent, name, { value, enumerable: true, configurable: true, writable: true });
  return value;
}
