/** Which rows in memory a query asks for: one look for each, however many keys it names. */
import { toKey } from '@settledb/core';
import type { QueryPlan } from './options';
import { rangeTest } from './ranges';

interface Row {
  readonly key: string;
  readonly id: string;
}

export class AskedRows {
  /** In the order in which their rows are answered; `undefined` for a range. */
  readonly #keys: readonly string[] | undefined;
  readonly has: (key: string, id: string) => boolean;

  constructor({ ranges, byKeys }: Pick<QueryPlan, 'ranges' | 'byKeys'>) {
    if (byKeys) {
      this.#keys = ranges.map(({ from }) => toKey(from!.key)); // each is of one key
      const keys = new Set(this.#keys);
      this.has = (key) => keys.has(key);
    } else {
      const isWithin = rangeTest(ranges[0]!); // without keys there is one
      this.has = (key, id) => isWithin({ key, id });
    }
  }

  /** The rows of each range. @param rows which all are asked for, in order */
  parts<R extends Row>(rows: readonly R[]): readonly (readonly R[])[] {
    if (this.#keys === undefined) return [rows];
    const byKey = new Map<string, R[]>();
    for (const row of rows) {
      const known = byKey.get(row.key);
      if (known === undefined) byKey.set(row.key, [row]);
      else known.push(row);
    }
    return this.#keys.map((key) => byKey.get(key) ?? []);
  }
}
