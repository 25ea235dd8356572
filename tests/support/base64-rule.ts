/** What base64 is, character by character, held against how a platform decodes it. */
import { type Bytes, decoded, exactBytes } from '@settledb/core';
import { expect } from 'vitest';
import { mulberry32 } from './slow-adapter';

/** Beside the alphabet: white space of all kinds, the other alphabet, wide characters whose lower half is a letter. */
const ODD = [...' \n\t\u00a0\u2003=-_*é\u0141\u{1f600}'];
const ALPHABET = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'];

function isBase64(text: string): boolean {
  const dense = text.replace(/\s+/g, '');
  return dense.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(dense);
}

function lengthOf(text: string, bytes: Bytes): number | undefined {
  try {
    return [...decoded(text, bytes)].reduce((sum, { length }) => sum + length, 0);
  } catch {
    return undefined;
  }
}

/** Short texts at random, and those around where a text is cut to be decoded. */
export function holdsRule(bytes: Bytes): void {
  const random = mulberry32(7);
  const pick = (from: readonly string[]): string => from[Math.floor(random() * from.length)]!;
  for (let i = 0; i < 3000; i++) {
    let text = '';
    const length = Math.floor(random() * 13);
    for (let at = 0; at < length; at++) text += pick(random() < 0.1 ? ODD : ALPHABET);
    text += pick(['', '', '=', '==', '===']);
    const dense = text.replace(/\s+/g, '');
    const expected = isBase64(text) ? (dense.length / 4) * 3 - (dense.match(/=/g)?.length ?? 0) : undefined;
    expect(lengthOf(text, bytes), JSON.stringify(text)).toBe(expected);
    expect(exactBytes(text, bytes)?.length, JSON.stringify(text)).toBe(dense === text ? expected : undefined);
  }
  const much = 'QUJD'.repeat(131_072);
  expect(lengthOf(much, bytes)).toBe(393_216);
  expect(lengthOf(`${much}QQ==`, bytes)).toBe(393_217);
  expect(lengthOf(`${much}\n${much}\nQUI=\n`, bytes)).toBe(786_434);
  expect(lengthOf(`${much.slice(4)}QQ==QUJD`, bytes)).toBeUndefined();
  expect(lengthOf(`${much}QQ-_`, bytes)).toBeUndefined();
}
