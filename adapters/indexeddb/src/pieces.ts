/**
 * Long texts are stored in pieces.
 *
 * Chromium (156) puts a value of more than 64 KiB, if it still has as many when compressed, into a file of its own. Unless a commit is
 * `strict` it syncs the entry that names the file, and not the file: so after a power failure the entry may be there and the file
 * empty, and that value can never be read again. Of a commit's record this would be the end of its database. Pieces lie with all other
 * entries, which are lost from the last one on, if at all.
 *
 *   key            → { cut: [length, …] }     texts of these lengths were to be stored there
 *   [key, 0] …     → their pieces
 *   n + 1/4096 …   → … of commit n, in `log`: what is asked for from some commit on comes with its pieces
 */
import { corrupt, tooLarge } from '@settledb/core';
import type { Block } from '@settledb/engine';
import type { StoreName } from './schema';
import type { Asking } from './transaction';

/** 64 KiB, less what browsers put before a text. */
const PIECE_BYTES = 65_000;
/** Pieces between two whole numbers, 266 MB: exact for 2⁴⁰ commits. */
const PARTS = 4096;
/** Characters by which a text is judged: some rows of JSON. */
const SAMPLE = 1024;
/** Characters of one match. */
const COPY_MAX = 64;

/** Whatever its characters are. */
export const isShort = (text: string): boolean => text.length * 2 <= PIECE_BYTES;

/** A record whose texts are in pieces. */
export interface Cut {
  readonly cut: readonly number[];
}

export const isCut = (value: unknown): value is Cut => Array.isArray((value as Partial<Cut> | null)?.cut);

type Key = number | string;

const keyOf = (store: IDBObjectStore, key: Key, at: number): IDBValidKey =>
  isLog(store) ? (key as number) + (at + 1) / PARTS : [key, at];

/** Where pieces are. */
export const piecesAt = (store: IDBObjectStore, key: Key): IDBKeyRange =>
  isLog(store) ? IDBKeyRange.bound(key, (key as number) + 1, true, true) : ofAll(key, key);

const isLog = ({ name }: IDBObjectStore): boolean => name === ('log' satisfies StoreName);
const ofAll = (from: Key, to: Key): IDBKeyRange => IDBKeyRange.bound([from], [to, []]);

/** Commits from one to another, with their pieces. */
export const commitsAt = (from: number, to: number): IDBKeyRange =>
  IDBKeyRange.bound(from, to + 1, false, true);

/** Commits after this one, with their pieces. */
export const commitsAfter = (n: number): IDBKeyRange => IDBKeyRange.lowerBound(n + 1);

/** Drops what is at whole numbers from one to another, with its pieces. */
export function dropping(store: IDBObjectStore, from: number, to: number): Asking[] {
  if (isLog(store)) return [() => store.delete(commitsAt(from, to))];
  return [() => store.delete(IDBKeyRange.bound(from, to)), () => store.delete(ofAll(from, to))];
}

/** Puts a block. */
export const puttingBlock = (store: IDBObjectStore, { id, text }: Block): Asking[] =>
  puttingText(store, id, text, isShort(text) ? [] : piecesOf(text, shareLeft(text)));

/** Puts a text at a key that has none, or one without pieces. */
export function puttingText(
  store: IDBObjectStore,
  key: Key,
  text: string,
  pieces: readonly string[],
): Asking[] {
  if (pieces.length === 0) return [() => store.put(text, key)];
  return [() => store.put({ cut: [text.length] } satisfies Cut, key), ...puttingPieces(store, key, pieces)];
}

export const puttingPieces = (store: IDBObjectStore, key: Key, pieces: readonly string[]): Asking[] =>
  pieces.map((piece, at) => () => store.put(piece, keyOf(store, key, at)));

/**
 * @param share about how much is left of it when it is compressed
 * @returns as few as are short enough then; none, if it is that itself
 */
export function piecesOf(text: string, share = 1): string[] {
  const width = /[^\0-\xff]/.test(text) ? 2 : 1;
  const count = Math.ceil((text.length * width * share) / PIECE_BYTES);
  if (count <= 1) return [];
  if (count >= PARTS) throw tooLarge(`A text of ${text.length} characters cannot be stored`);
  const length = Math.ceil(text.length / count);
  return Array.from({ length: count }, (_, at) => text.slice(at * length, (at + 1) * length));
}

/** @throws DatabaseError `corrupt` if they are not all there */
export function joined({ cut }: Cut, pieces: readonly unknown[], what: string): string[] {
  const text = pieces.join('');
  let end = 0;
  const texts = cut.map((length) => {
    end += length;
    return text.slice(end - length, end);
  });
  if (end !== text.length) throw corrupt(`${what} is damaged: of ${end} characters there are ${text.length}`);
  return texts;
}

/**
 * About how much of a text is left when it is compressed as Chromium does it (Snappy): by matches of four characters and more, each with the
 * last that began alike, that take three bytes. A short sample has fewer matches than the whole, so this says too much rather than too little.
 */
function shareLeft(text: string): number {
  const start = Math.max(0, (text.length - SAMPLE) >> 1);
  const sample = text.slice(start, start + SAMPLE);
  /** Where four characters were seen last. */
  const seen = new Map<string, number>();
  let left = 0;
  for (let at = 0; at < sample.length; ) {
    const four = sample.slice(at, at + 4);
    const before = seen.get(four);
    seen.set(four, at);
    const length = before === undefined ? 1 : commonLength(sample, before, at);
    at += length;
    left += Math.min(length, 3);
  }
  return left / sample.length;
}

/** Of what begins at two places. */
function commonLength(text: string, one: number, other: number): number {
  let length = 0;
  while (length < COPY_MAX && other + length < text.length && text[one + length] === text[other + length])
    length++;
  return length;
}
