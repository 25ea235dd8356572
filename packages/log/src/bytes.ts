/**
 * Bytes with numbers and texts in them: the part of Node's `Buffer` that this package uses, by its names, so that in Node it is a
 * `Buffer`. {@link PortableBytes} serves where there is none.
 */
import { latin1In, utf16In, writeLatin1, writeUtf16 } from './portable-texts';

/** How a text is kept: a byte for each character up to U+00FF, two for each UTF-16 unit, or a byte for two hexadecimal digits. */
type Encoding = 'latin1' | 'utf16le' | 'hex';

export interface Bytes extends Uint8Array {
  subarray(from?: number, to?: number): Bytes;
  readUInt32LE(at: number): number;
  writeUInt32LE(value: number, at: number): number;
  readDoubleLE(at: number): number;
  writeDoubleLE(value: number, at: number): number;
  toString(encoding?: Encoding, from?: number, to?: number): string;
  /** @returns how many bytes it took */
  write(text: string, at: number, encoding: Encoding): number;
  equals(other: Uint8Array): boolean;
  indexOf(value: number | Uint8Array, from?: number): number;
}

export interface BytesMaker {
  alloc(length: number): Bytes;
  /** Perhaps not zeroes: for what is filled at once. */
  allocUnsafe(length: number): Bytes;
  /** … and kept for long. */
  allocUnsafeSlow(length: number): Bytes;
  from(text: string, encoding: 'latin1'): Bytes;
  /** A copy. */
  from(bytes: Uint8Array): Bytes;
  concat(parts: readonly Uint8Array[]): Bytes;
}

class PortableBytes extends Uint8Array implements Bytes {
  override subarray(from = 0, to = this.length): PortableBytes {
    const start = Math.min(from, this.length);
    const end = Math.max(start, Math.min(to, this.length));
    return new PortableBytes(this.buffer, this.byteOffset + start, end - start);
  }

  readUInt32LE(at: number): number {
    return this.#view(at, 4).getUint32(0, true);
  }

  writeUInt32LE(value: number, at: number): number {
    this.#view(at, 4).setUint32(0, value, true);
    return at + 4;
  }

  readDoubleLE(at: number): number {
    return this.#view(at, 8).getFloat64(0, true);
  }

  writeDoubleLE(value: number, at: number): number {
    this.#view(at, 8).setFloat64(0, value, true);
    return at + 8;
  }

  override toString(encoding: Encoding = 'latin1', from = 0, to = this.length): string {
    const part = this.subarray(from, to);
    if (encoding === 'hex') return Array.from(part, (byte) => byte.toString(16).padStart(2, '0')).join('');
    return encoding === 'latin1' ? latin1In(part) : utf16In(part);
  }

  write(text: string, at: number, encoding: Encoding): number {
    if (encoding === 'latin1') return writeLatin1(this, at, text);
    if (encoding === 'utf16le') return writeUtf16(this, at, text);
    for (let i = 0; i < text.length / 2; i++)
      this[at + i] = Number.parseInt(text.slice(2 * i, 2 * i + 2), 16);
    return text.length / 2;
  }

  equals(other: Uint8Array): boolean {
    return this.length === other.length && this.every((byte, i) => byte === other[i]);
  }

  override indexOf(value: number | Uint8Array, from = 0): number {
    if (typeof value === 'number') return super.indexOf(value, from);
    for (let at = from; ; at++) {
      at = super.indexOf(value[0]!, at);
      if (at < 0 || at + value.length > this.length) return -1;
      if (this.subarray(at, at + value.length).equals(value)) return at;
    }
  }

  #view(at: number, bytes: number): DataView {
    return new DataView(this.buffer, this.byteOffset + at, bytes);
  }
}

export const portableBytes: BytesMaker = {
  alloc: (length) => new PortableBytes(length),
  allocUnsafe: (length) => new PortableBytes(length),
  allocUnsafeSlow: (length) => new PortableBytes(length),
  from(source: string | Uint8Array) {
    const bytes = new PortableBytes(source.length);
    if (typeof source === 'string') writeLatin1(bytes, 0, source);
    else bytes.set(source);
    return bytes;
  },
  concat(parts) {
    const all = new PortableBytes(parts.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  },
};
