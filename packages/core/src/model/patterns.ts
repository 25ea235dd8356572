/**
 * A RegExp in a selector as text that CouchDB takes. Its flags go to the front, where they apply to all of it: CouchDB also takes
 * `(?i:abc)`, but JavaScript, and so our own server, does not.
 */
import { isGroup } from './selector';

/** @param value a selector, or a part of one; not changed */
export function withPatterns(value: unknown): unknown {
  if (value instanceof RegExp) {
    const flags = value.flags.replace(/[^ims]/g, '');
    return flags === '' ? value.source : `(?${flags})${value.source}`;
  }
  if (Array.isArray(value)) return value.map(withPatterns);
  if (!isGroup(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withPatterns(each)]));
}
