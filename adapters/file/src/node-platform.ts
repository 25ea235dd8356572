/** What Node does faster: bytes by `Buffer`, checksums by zlib where it has them (20.15 and later). */
import * as zlib from 'node:zlib';
import { type Crc32, crc32ByTable, runOn } from '@settledb/log';

export const onNode = (): void =>
  runOn({ bytes: Buffer, crc32: (zlib as { crc32?: Crc32 }).crc32 ?? crc32ByTable });
