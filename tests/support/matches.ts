/** One document against one selector. */
import { compileSelector } from '../../packages/core/src/model';

export const matches = (selector: object, doc: object): boolean => compileSelector(selector)(doc);
