/**
 * What must stand in the text of a document that matches: a value that a field is equal to. To look for it takes a fiftieth of the
 * time of parsing the document, and of most documents that is all that has to be known.
 */
import { isGroup, type Selector } from '@settledb/core';
import { isPlainName, isUnescaped, textField, UNTOLD } from '../text-fields';

/** A field that is equal to a text. */
export interface WantedText {
  readonly value: string;
  /** As JSON, without the quote in front. */
  readonly text: string;
  /** The field's name likewise, if it can be looked for. */
  readonly name: string | undefined;
}

/** @param selector normalized. @returns what every document that matches has, outside `_id` and the like */
export function textsIn(selector: Selector): WantedText[] {
  return Object.entries(selector).flatMap(([name, conditions]): WantedText[] => {
    if (name === '$and') return (conditions as Selector[]).flatMap(textsIn);
    if (!IN_TEXT.test(name) || !isGroup(conditions) || typeof conditions.$eq !== 'string') return [];
    const value = conditions.$eq;
    const text = JSON.stringify(value);
    return text.includes('\\')
      ? []
      : [{ value, text: text.slice(1), name: isPlainName(name) ? `${name}"` : undefined }];
  });
}

/** No operator, and no field that is kept beside the text: what begins with `_`, or with an escape. */
const IN_TEXT = /^[^_$\\]/;

/**
 * Whether a document with this JSON may match. JSON in which nothing is escaped says a text in one way only.
 * @param texts see {@link textsIn}
 */
export function mayMatch(body: string, texts: readonly WantedText[]): boolean {
  for (const { value, text, name } of texts) {
    if (body.indexOf(text) < 0) return body.indexOf('\\') >= 0;
    if (name === undefined || !isUnescaped(body)) continue;
    const found = textField(body, name);
    if (found !== UNTOLD && found !== value) return false;
  }
  return true;
}
