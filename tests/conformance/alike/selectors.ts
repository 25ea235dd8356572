import type { Random } from '../../replication/random';
import { anyValue } from './values';

const FIELDS = ['k', 'n', '_id', 'link', 'k.a', 'none'];
const COMPARISONS = ['$eq', '$ne', '$gt', '$gte', '$lt', '$lte'];
const COMBINATIONS = ['$and', '$or', '$nor'];
const TYPES = ['string', 'number', 'null', 'object', 'array', 'boolean', 'x'];
/** How deep combinations are within one another. */
const DEPTH_MAX = 2;

/** One or two conditions, of every operator, also with what it cannot have. */
export function selector(random: Random, depth = 0): object {
  return Object.fromEntries(Array.from({ length: 1 + random.below(2) }, () => condition(random, depth)));
}

function condition(random: Random, depth: number): readonly [string, unknown] {
  const value = (): unknown => anyValue(random);
  if (depth < DEPTH_MAX && random.chance(0.2))
    return [random.pick(COMBINATIONS), [selector(random, depth + 1), selector(random, depth + 1)]];
  return [
    random.pick(FIELDS),
    random.pick([
      () => value(),
      () => ({ [random.pick(COMPARISONS)]: value() }),
      () => ({ [random.pick(['$in', '$nin', '$all'])]: random.pick([[value(), value()], 1]) }),
      () => ({ $exists: random.chance(0.5) }),
      () => ({ $type: random.pick(TYPES) }),
      () => ({ $regex: random.pick(['^x', 'y', '.', '(']) }),
      () => ({ $size: random.below(3) }),
      () => ({ $mod: [2, random.below(2)] }),
      () => ({ $elemMatch: { $eq: value() } }),
      () => ({ $beginsWith: 'x' }),
      () => ({ $not: { $eq: value() } }),
    ])(),
  ];
}
