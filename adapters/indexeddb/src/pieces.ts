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
 *   n + 1/8192 …   → … of commit n, in `log`: what is asked for from some commit on comes with its pieces
 */
import { corrupt, tooLarge } from '@settledb/core';
import type { Block } from '@settledb/engine';
import type { StoreName } from './schema';
import type { Asking } from './transaction';

/** 64 KiB, less what browsers put before what is stored. */
export const BYTES_MAX = 65_000;
/** Pieces between two whole numbers, 266 million characters beyond Latin-1: exact for 2³⁹ commits. */
const PARTS = 8192;
/** A text is judged by so many places in it … */
const SAMPLES = 8;
/** … of so many characters: a row of JSON. */
const SAMPLE_LENGTH = 128;
/** Characters of one match. */
const COPY_MAX = 64;

/** In one record whatever its characters are. */
export const isShort = ({ length }: { readonly length: number }): boolean => length * 2 <= BYTES_MAX;

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

/** Puts a text at a key that has none, or one without pieces. */
export function putting(store: IDBObjectStore, key: Key, text: string): Asking[] {
  // Without a block its documents are lost, without the manifest all are: so that is not judged by samples.
  const pieces = isBlock(store)
    ? fitting(text, shareLeft, (key as number) < 0 || isWideAbout)
    : fitting(text);
  const [only] = pieces;
  if (pieces.length === 1) return [() => store.put(only, key)];
  return [() => store.put({ cut: [text.length] } satisfies Cut, key), ...puttingPieces(store, key, pieces)];
}

const isBlock = ({ name }: IDBObjectStore): boolean => name === ('block' satisfies StoreName);

export const puttingPieces = (store: IDBObjectStore, key: Key, pieces: readonly string[]): Asking[] =>
  pieces.map((piece, at) => () => store.put(piece, keyOf(store, key, at)));

/** A text with characters beyond Latin-1 was put from here, so others may be cut from such. */
let isWideAbout = false;

/** To be called with all of a commit before the first is put. */
export function lookForWide(blocks: readonly Block[]): void {
  if (!isWideAbout) blocks.some(({ text }) => isWide(text));
}

/** Whether it has characters beyond Latin-1. */
function isWide(text: string): boolean {
  const found = /[^\0-\xff]/.test(text);
  isWideAbout ||= found;
  return found;
}

/**
 * @param share about how much is left of a text when it is compressed, or less than `enough`; undefined: all of it may be
 * @param isCutOut whether it may be cut from another text
 * @returns the text, in as few pieces as are short enough then
 */
export function fitting(
  text: string,
  share?: (text: string, enough: number) => number,
  isCutOut = true,
): string[] {
  if (isShort(text)) return [text];
  const isPlain = !isWide(text);
  const bytes = text.length * (isPlain ? 1 : 2);
  const left = bytes * (share?.(text, BYTES_MAX / bytes) ?? 1);
  const count = Math.ceil(left / BYTES_MAX);
  if (count === 1) return [isPlain && isCutOut ? madeAnew(text) : text];
  if (count >= PARTS) throw tooLarge(`A text of ${text.length} characters cannot be stored`);
  const length = Math.ceil(text.length / count);
  // Each is judged by itself: of a text with long parts that are compressed well, others may be too long.
  return Array.from({ length: count }, (_, at) =>
    fitting(text.slice(at * length, (at + 1) * length), share, isCutOut),
  ).flat();
}

/** Kept, because to make it takes longer than to use it: for a block 0.25 ms instead of 0.06. Of 3 MB, if a long text compresses that well. */
let bytes: Uint8Array | undefined;

/**
 * V8 may have two bytes for each character of a Latin-1 text, too, if it was cut from one that needs them, as a compaction cuts documents
 * from a block, and an app its rows from a file. No call tells. A text that is made anew has one. It takes a tenth of a bulk insert, so that
 * is not done before the first of the others.
 */
function madeAnew(text: string): string {
  const most = text.length * 2;
  if (bytes === undefined || bytes.length < most) bytes = new Uint8Array(most);
  const { written } = new TextEncoder().encodeInto(text, bytes);
  return new TextDecoder().decode(bytes.subarray(0, written));
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
 * last that began alike, that take three bytes. Samples have fewer matches than the whole, so this says too much rather than too little.
 *
 * @param enough nobody asks whether it is less: mostly half of the samples show that it is
 */
function shareLeft(text: string, enough: number): number {
  const step = (text.length - SAMPLE_LENGTH) / (SAMPLES - 1);
  let sample = '';
  for (let i = 0; i < SAMPLES; i++) sample += text.slice(i * step, i * step + SAMPLE_LENGTH);
  /** Where four characters were seen last. */
  const seen = new Map<string, number>();
  /** If what is not compared yet were left whole. */
  let left = sample.length;
  for (let at = 0; at < sample.length && left > enough * sample.length; ) {
    const four = sample.slice(at, at + 4);
    const before = seen.get(four);
    seen.set(four, at);
    const length = before === undefined ? 1 : commonLength(sample, before, at);
    at += length;
    left -= Math.max(length - 3, 0);
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
