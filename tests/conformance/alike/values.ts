import type { Random } from '../../replication/random';

/** Ids that programs, URLs or JavaScript's objects might take for something else, among plain ones. */
export const IDS = ['a', 'aa', 'A', 'b', 'c', 'd/e', 'constructor', 'é', 'z z', '+', '%41'];

const TEXTS = ['x', 'y', '', '\u{1f600}'];
const NUMBERS = [0, 1, 2, 3, -1, 1.5, 1e21];
const OTHERS = [null, true, false, [1], [], ['x', 2], { a: 1 }, {}];

/** One of every type, as documents and keys have them. */
export const anyValue = (random: Random): unknown => random.pick([...TEXTS, ...NUMBERS, ...OTHERS]);
