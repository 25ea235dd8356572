/**
 * What must stand in the text of a document that matches: a value that a field is equal to. To look for it takes a fiftieth of the
 * time of parsing the document, and of most documents that is all that has to be known.
 */
import { isGroup, type Selector } from '@settledb/core';

/** @param selector normalized. @returns JSON of values, each of which every document that matches has, outside `_id` and the like */
export function textsIn(selector: Selector): string[] {
  return Object.entries(selector).flatMap(([name, conditions]): string[] => {
    if (name === '$and') return (conditions as Selector[]).flatMap(textsIn);
    if (!PLAIN_NAME.test(name) || !isGroup(conditions) || typeof conditions.$eq !== 'string') return [];
    const text = JSON.stringify(conditions.$eq);
    return text.includes('\\') ? [] : [text];
  });
}

/** No operator, and no field that is kept beside the text: what begins with `_`, or with an escape. */
const PLAIN_NAME = /^[^_$\\]/;

/**
 * Whether a document with this JSON may match. JSON in which nothing is escaped says a text in one way only.
 * @param texts see {@link textsIn}
 */
export const mayMatch = (body: string, texts: readonly string[]): boolean =>
  texts.every((text) => body.includes(text)) || body.includes('\\');
