/**
 * A RegExp in a selector as text that CouchDB takes. Its flags go to the front, where they apply to all of it: CouchDB also takes
 * `(?i:abc)`, but JavaScript, and so our own server, does not.
 */
import { badRequest } from './errors';
import { checkSays, isGroup } from './selector';

/** What means something else without the flag `u`, which no text has: `\p{L}` is a p, and `\u{41}` 41 times u. */
const UNICODE = /\\[pP]\{|\\u\{|[\ud800-\udfff]/;

/**
 * @param value a selector, or a part of one; not changed
 * @param name of the member that it is
 * @throws DatabaseError 400 for a pattern whose text would find other documents, and as {@link checkSays}
 */
export function withPatterns(value: unknown, name?: string): unknown {
  checkSays(value, name);
  if (value instanceof RegExp) {
    const { source, flags } = value;
    const isUnicode = flags.includes('u') && UNICODE.test(source.replaceAll('\\\\', ''));
    if (isUnicode || flags.includes('v'))
      throw badRequest(`$regex ${value} cannot be kept or sent: as text it has no flag ${flags}`);
    const inline = flags.replace(/[^ims]/g, '');
    return inline === '' ? source : `(?${inline})${source}`;
  }
  if (Array.isArray(value)) return value.map((each) => withPatterns(each));
  if (!isGroup(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withPatterns(each, name)]));
}
