/** Where there is no IndexedDB, as in Node, or `null` stands for it, as in web views that are not allowed to store. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { indexeddb } from '../../adapters/indexeddb/src/index';

let before: PropertyDescriptor | undefined;
beforeEach(() => {
  before = Object.getOwnPropertyDescriptor(globalThis, 'indexedDB');
});
afterEach(() => {
  if (before === undefined) Reflect.deleteProperty(globalThis, 'indexedDB');
  else Object.defineProperty(globalThis, 'indexedDB', before);
});

it.each([undefined, null])('says what is missing where indexedDB is %s', async (value) => {
  Object.defineProperty(globalThis, 'indexedDB', { value, configurable: true });
  const missing = { name: 'io', status: 500, reason: expect.stringContaining('There is no IndexedDB here') };
  await expect(indexeddb().open('absent')).rejects.toMatchObject(missing);
  await expect(indexeddb().destroy('absent')).rejects.toMatchObject(missing);
});
