/** In which order the frames of a log stand. */
import { type FrameHeader, type FrameMeaning, KIND_BLOCK, KIND_COMMIT } from './frame';

/** What was there before a frame. */
export interface Before {
  /** Sequence number of the last record that has its mark. */
  readonly sequence: number;
  /** Number of frames of the record after it. */
  readonly pending: number;
  /** The last commit; `undefined` if that is not known. */
  readonly n: number | undefined;
}

export const NOTHING: Before = { sequence: 0, pending: 0, n: 0 };

/** Why a frame cannot be the next one; `undefined` if it can. */
export function objectionTo(
  header: FrameHeader,
  meaning: FrameMeaning,
  { sequence, pending, n }: Before,
): string | undefined {
  if (header.sequence !== sequence + 1) return `record ${header.sequence} follows record ${sequence}`;
  if (header.index !== pending) return `part ${header.index} of a record follows ${pending} parts`;
  if (meaning.kind === KIND_COMMIT && n !== undefined && meaning.n !== n + 1)
    return `commit ${meaning.n} follows commit ${n}`;
  return undefined;
}

/** What is there after a frame, wherever it stands. */
export function after(header: FrameHeader, meaning: FrameMeaning, n: number | undefined): Before {
  if (meaning.kind === KIND_BLOCK) return { sequence: header.sequence - 1, pending: header.index + 1, n };
  const { sequence } = header;
  if (meaning.kind === KIND_COMMIT) return { sequence, pending: 0, n: meaning.n };
  // For the first record of a vacuumed log: the commits before it are only in the manifest.
  const isFirst = meaning.hasManifest && n !== undefined && n < meaning.through;
  return { sequence, pending: 0, n: isFirst ? meaning.through : n };
}
