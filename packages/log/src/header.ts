/**
 * The first bytes of a log: `settledb` · version u32 · generation u32 · uuid · base f64 · crc u32, in every version to come.
 *
 * `base` is how much of the file was on the disk before the file got its name: damage before that is never a torn write. A log keeps
 * its version; the next generation has the newest.
 */
import { corrupt, ioError } from '@settledb/core';
import { Bytes, crc32 } from './platform';

const FORMAT_VERSION = 4;
/** The first version whose readers know packs of small contents beside the log. */
export const PACKS_VERSION = 2;
/** The first version whose long blocks carry sums of their pieces. */
export const SUMS_VERSION = 3;
/** The first version in which those pieces are small. */
export const SMALL_PIECES_VERSION = 4;
export const HEADER_BYTES = 44;
const MAGIC = Bytes.from('settledb', 'latin1');
const CRC_AT = 40;

export interface LogHeader {
  readonly version: number;
  readonly generation: number;
  /** 16 bytes; one per database, kept through vacuums. */
  readonly uuid: Bytes;
  readonly base: number;
  /** Marks this file's frames and starts their checksums. */
  readonly salt: number;
}

export function newHeader(
  generation: number,
  uuid: Bytes,
  base: number,
  version = FORMAT_VERSION,
): LogHeader {
  const data = Bytes.alloc(20);
  data.writeUInt32LE(generation, 0);
  data.set(uuid, 4);
  return { version, generation, uuid, base, salt: crc32(data) };
}

export function encodeHeader({ version, generation, uuid, base }: LogHeader): Bytes {
  const data = Bytes.alloc(HEADER_BYTES);
  data.set(MAGIC);
  data.writeUInt32LE(version, 8);
  data.writeUInt32LE(generation, 12);
  data.set(uuid, 16);
  data.writeDoubleLE(base, 32);
  data.writeUInt32LE(crc32(data.subarray(0, CRC_AT)), CRC_AT);
  return data;
}

/**
 * Reads what `encodeHeader` wrote.
 *
 * @throws DatabaseError `corrupt` for anything else; `io`, naming both versions, for a newer format
 */
export function decodeHeader(data: Bytes, path: string): LogHeader {
  if (data.length < HEADER_BYTES || !data.subarray(0, MAGIC.length).equals(MAGIC)) {
    throw corrupt(`${path}: damaged at byte 0: this is not the start of a settledb log`);
  }
  if (data.readUInt32LE(CRC_AT) !== crc32(data.subarray(0, CRC_AT))) {
    throw corrupt(`${path}: damaged at byte 0: the checksum of the header is wrong`);
  }
  const version = data.readUInt32LE(8);
  if (version === 0 || version > FORMAT_VERSION) {
    throw ioError(
      `${path} has format version ${version}; this program reads versions up to ${FORMAT_VERSION}: use a newer settledb`,
    );
  }
  return newHeader(data.readUInt32LE(12), Bytes.from(data.subarray(16, 32)), data.readDoubleLE(32), version);
}

/** True for the remains of a first log that was cut within its header: a part of a header, or zeroes. */
export const isTornHeader = (data: Bytes): boolean => data.length < HEADER_BYTES && beginsAsLog(data);

/**
 * True when a file is one of our logs, damaged or not; `data` are its first {@link HEADER_BYTES}. It begins as logs do; or with
 * nothing yet (the header of a vacuumed log is written last); or its magic is damaged, but the checksum shows that it was there.
 */
export function isLog(data: Bytes): boolean {
  if (beginsAsLog(data)) return true;
  if (data.length < HEADER_BYTES) return false;
  return data.readUInt32LE(CRC_AT) === crc32(Bytes.concat([MAGIC, data.subarray(MAGIC.length, CRC_AT)]));
}

/** As far as there is anything: it may be zeroes. */
function beginsAsLog(data: Bytes): boolean {
  const magic = data.subarray(0, MAGIC.length);
  return magic.equals(MAGIC.subarray(0, magic.length)) || data.every((byte) => byte === 0);
}
