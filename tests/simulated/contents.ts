/**
 * Contents of attachments: what programs put on documents, and what each write said of them. Whoever reads a document must find that, and
 * the bytes that belong to it.
 */
import { createHash } from 'node:crypto';
import type { Random } from '../replication/random';
import type { Tab } from './platform/tab';
import type { World } from './platform/world';

/** Bytes of each, of which a chunk has 240 here: none, a part of a chunk, one to a byte, several. Few, so that documents share them. */
const SIZES = [0, 7, 7, 90, 180, 239, 240, 241, 480, 500, 700, 1_300];
const NAMES = ['a', 'b', 'c'];
/** Bytes of a piece of a stream, and how long the next is waited for, at most. */
const PIECE = 70;
const PIECE_MS = 25;

/** What a document has, by name: the digest. */
export type Planned = ReadonlyMap<string, string>;

type Data = string | Uint8Array | (() => AsyncIterable<Uint8Array>);
type Input = Readonly<Record<string, { stub: true; digest: string } | { content_type: string; data: Data }>>;
/** As documents are read, with data or without. */
export type Attached = Readonly<Record<string, { digest: string; length?: number; data?: string }>>;

const CONTENTS = SIZES.map((size, i) => {
  const bytes = Uint8Array.from({ length: size }, (_, at) => (i * 37 + at * 11 + (at >> 4)) % 256);
  return { bytes, digest: `md5-${createHash('md5').update(bytes).digest('base64')}` };
});
const BY_DIGEST = new Map(CONTENTS.map(({ digest, bytes }) => [digest, bytes]));

export class Contents {
  readonly #world: World;
  /** By the name of the write. */
  readonly #planned = new Map<string, Planned>();

  constructor(world: World) {
    this.#world = world;
  }

  /**
   * What a write does to a document's attachments, if anything.
   *
   * @param by names the write
   * @returns what it gives; `undefined`: none
   */
  plan(by: string, before: Attached | undefined, tab: Tab, changes: number): Input | undefined {
    const { random } = this.#world;
    const planned = new Map(Object.entries(before ?? {}).map(([name, { digest }]) => [name, digest]));
    const given = new Map<string, Input[string]>();
    for (const [name, digest] of planned) given.set(name, { stub: true, digest });
    while (random.chance(changes)) {
      const name = random.pick(NAMES);
      if (planned.delete(name) && given.delete(name) && random.chance(0.4)) continue;
      const { bytes, digest } = random.pick(CONTENTS);
      planned.set(name, digest);
      given.set(name, { content_type: 'text/plain', data: dataOf(bytes, random, tab) });
    }
    this.#planned.set(by, planned);
    return given.size === 0 ? undefined : Object.fromEntries(given);
  }

  /** A document, as somebody has read it, has what was planned; if its contents were read too, these are whole. */
  check(
    who: string,
    doc: { readonly by: string; readonly _id: string; readonly _attachments?: Attached },
  ): void {
    const { by, _id, _attachments = {} } = doc;
    const planned = this.#planned.get(by);
    const found = Object.entries(_attachments).map(([name, { digest }]) => `${name} ${digest}`);
    const wanted = [...(planned ?? [])].map(([name, digest]) => `${name} ${digest}`);
    if (planned === undefined || found.sort().join() !== wanted.sort().join())
      this.#world.wrong(`${who}: ${_id} of ${by} has ${found}, where ${wanted} was written`);
    for (const { digest, length, data } of Object.values(_attachments))
      this.compare(`${who}: ${_id}`, digest, data === undefined ? length! : Buffer.from(data, 'base64'));
  }

  /** @param found the bytes, or how many there are */
  compare(who: string, digest: string, found: Uint8Array | number): void {
    const bytes = BY_DIGEST.get(digest);
    const isIt =
      typeof found === 'number' ? found === bytes?.length : bytes && Buffer.compare(found, bytes) === 0;
    if (!isIt) this.#world.wrong(`${who}: the content of ${digest} is another: ${found}`);
  }
}

/** How many contents have bytes that are stored, among those of documents that were read with data. */
export const countStored = (all: readonly (Attached | undefined)[]): number =>
  new Set(
    all
      .flatMap((attached) => Object.values(attached ?? {}))
      .flatMap(({ data, digest }) => (data === '' ? [] : digest)),
  ).size;

function dataOf(bytes: Uint8Array, random: Random, tab: Tab): Data {
  const chance = random.next();
  if (chance < 0.4) return Buffer.from(bytes).toString('base64');
  if (chance < 0.7) return bytes;
  return async function* () {
    for (let at = 0; at < bytes.length; at += PIECE) {
      await tab.sleep(random.next() * PIECE_MS);
      yield bytes.subarray(at, at + PIECE);
    }
  };
}
