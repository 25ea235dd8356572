/**
 * A revision tree as one string, the form in which it is stored, and back. Linear; nothing is escaped, since lengths are given.
 *
 *   chain   kind generation , count { , generation of a tombstone } : hashes      chains follow one another
 *   kind    a digit: 1 joined + 2 no tip + 4 hashes of mixed length
 *   hashes  32 characters each; of mixed length: each as `length : hash`
 *
 * What is not one chain of such hashes has zeros before its first generation, so that its length is a multiple of 32. That of one chain
 * without tombstones never is: so the length tells that there are no branches, without reading the text (`tip.ts`).
 */

import type { Chain, RevTree } from './chain';
import { corrupt } from './errors';

const JOINED = 1;
const NO_TIP = 2;
const MIXED = 4;
/** Characters in a hash of ours, and in one of CouchDB's. */
export const HASH_LENGTH = 32;

export function packTree(tree: RevTree): string {
  const packed = tree.chains.map(packChain).join('');
  if (isOneChain(packed)) return packed;
  return `${packed[0]}${'0'.repeat(-packed.length & (HASH_LENGTH - 1))}${packed.slice(1)}`;
}

function packChain({ generation, hashes, deleted, tip, joined }: Chain): string {
  const mixed = hashes.some((hash) => hash.length !== HASH_LENGTH);
  const kind = (joined ? JOINED : 0) + (tip ? 0 : NO_TIP) + (mixed ? MIXED : 0);
  const texts = mixed ? hashes.map((hash) => `${hash.length}:${hash}`) : hashes;
  return `${kind}${[generation, hashes.length, ...deleted].join(',')}:${texts.join('')}`;
}

/** @throws DatabaseError `corrupt` unless `packed` is what {@link packTree} made */
export function unpackTree(packed: string): RevTree {
  const chains: Chain[] = [];
  let at = 0;
  do {
    const colon = packed.indexOf(':', at);
    const kind = packed.charCodeAt(at) - 48; // a digit
    const [generation, count, ...deleted] = packed
      .slice(at + 1, colon)
      .split(',')
      .map(Number);
    if (colon < 0 || !(kind >= 0 && kind < 8) || !(generation! >= 1 && count! >= 1)) throw damaged(at);
    const hashes: string[] = [];
    at = readHashes(packed, colon + 1, count!, (kind & MIXED) !== 0, hashes);
    const tip = (kind & NO_TIP) === 0;
    chains.push({ generation: generation!, hashes, deleted, tip, joined: (kind & JOINED) !== 0 });
  } while (at < packed.length);
  return { chains };
}

/** True for trees that visibly, without unpacking, are one chain, as most are: no branches, so no conflicts. */
export function isOneChain(packed: string): boolean {
  const count = Number.parseInt(packed.slice(packed.indexOf(',') + 1), 10);
  return packed.startsWith('0') && packed.length === packed.indexOf(':') + 1 + count * HASH_LENGTH;
}

/** @returns where the next chain begins */
function readHashes(packed: string, from: number, count: number, mixed: boolean, hashes: string[]): number {
  let at = from;
  for (let n = 0; n < count; n++) {
    let length = HASH_LENGTH;
    if (mixed) {
      const colon = packed.indexOf(':', at);
      length = Number(packed.slice(at, colon));
      if (!(colon >= 0 && length >= 0)) throw damaged(at); // it would be read from the beginning again, and without end
      at = colon + 1;
    }
    const end = at + length;
    if (!(end <= packed.length)) throw damaged(at);
    hashes.push(packed.slice(at, end));
    at = end;
  }
  return at;
}

const damaged = (at: number) => corrupt(`A stored revision tree is damaged at character ${at}`);
