/** The form of a line: its checksum tells that it is as it was written, not that a dump wrote it. */
import { isLocalId, isObject } from '@settledb/core';
import { damaged, type Line } from './format';

/** What fields must be that are relied on; whether a document is one, the database decides. */
const FORMS: readonly (readonly [field: string, isSound: (value: unknown) => boolean])[] = [
  ['doc', isObject],
  ['content', isListOfNames],
  // Any other would be written as an ordinary document.
  ['local', (value) => isObject(value) && typeof value._id === 'string' && isLocalId(value._id)],
  ['data', (value) => typeof value === 'string'],
];

/** @throws corrupt for a line that is of no use, whatever its checksum */
export function checkForm(line: Record<string, unknown>): Line {
  for (const [field, isSound] of FORMS)
    if (field in line && !isSound(line[field])) throw damaged(`a malformed "${field}"`);
  return line as unknown as Line;
}

/** Each once: the content of one that comes again would never be read, and the others wait for it. */
function isListOfNames(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  return new Set(value).size === value.length && value.every((name) => typeof name === 'string');
}
