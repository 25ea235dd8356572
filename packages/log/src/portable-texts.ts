/**
 * Texts as bytes, one or two for each UTF-16 unit, by what every platform has. Its encoders know no form that keeps any string as it
 * is, but are quick for what most texts consist of: they do the work, and what they did otherwise is noticed and done again.
 */
import { isWide } from './frame-layout';

/** Shorter texts are written sooner than an encoder is called. */
const SHORT = 64;
/** Units made into a string by one call: engines limit the arguments of a call, to 65,536 or more. */
const UNITS = 8192;
/** What a decoder makes of an unpaired surrogate; it may also have been in the text. */
const REPLACED = '\ufffd';

const encoder = new TextEncoder();
/** Latin-1 except for 27 of its control characters, which it makes into characters above U+00FF. */
const windows1252 = new TextDecoder('windows-1252');
const utf16 = new TextDecoder('utf-16le', { ignoreBOM: true });

/** @param text no character above U+00FF */
export function writeLatin1(data: Uint8Array, at: number, text: string): number {
  const { length } = text;
  // UTF-8 of characters below U+0080 is Latin-1.
  if (length >= SHORT && encoder.encodeInto(text, data.subarray(at, at + length)).read === length)
    return length;
  for (let i = 0; i < length; i++) data[at + i] = text.charCodeAt(i);
  return length;
}

export function writeUtf16(data: Uint8Array, at: number, text: string): number {
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    data[at + 2 * i] = unit & 255;
    data[at + 2 * i + 1] = unit >>> 8;
  }
  return text.length * 2;
}

export function latin1In(data: Uint8Array): string {
  const text = windows1252.decode(data);
  return isWide(text) ? unitsIn(Uint16Array.from(data)) : text;
}

export function utf16In(data: Uint8Array): string {
  const text = utf16.decode(data);
  if (!text.includes(REPLACED)) return text;
  // A copy, since two bytes must begin at an even place. All that browsers run on is little-endian.
  return unitsIn(new Uint16Array(new Uint8Array(data).buffer, 0, data.length >>> 1));
}

function unitsIn(units: Uint16Array): string {
  let text = '';
  for (let at = 0; at < units.length; at += UNITS)
    text += String.fromCharCode.apply(null, units.subarray(at, at + UNITS) as unknown as number[]);
  return text;
}
