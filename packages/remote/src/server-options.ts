/** Options of lists and views, from the query and from a body. Senseless values are refused, as in CouchDB. */
import { noNumber, queryParseError, show } from '@settledb/core';
import type { Query } from './server-query';

type Body = Readonly<Record<string, unknown>>;

export class Options {
  readonly #query: Query;
  readonly #body: Body;

  constructor(query: Query, body: Body = {}) {
    this.#query = query;
    this.#body = body;
  }

  /** The first given one of several spellings. @throws bad_request */
  json(...names: readonly string[]): unknown {
    for (const name of names) if (Object.hasOwn(this.#body, name)) return this.#body[name];
    for (const name of names) if (this.#query.text(name) !== undefined) return this.#query.json(name);
    return undefined;
  }

  /** A text; in a query it stands without quotes. @throws query_parse_error */
  text(...names: readonly string[]): string | undefined {
    for (const name of names) {
      if (!Object.hasOwn(this.#body, name)) continue;
      const value = this.#body[name];
      if (typeof value !== 'string') throw queryParseError(`\`${name}\` should be a string`);
      return value;
    }
    for (const name of names) {
      const value = this.#query.text(name);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  /** In upper or lower case, as in CouchDB: Python writes `True`. @throws query_parse_error */
  flag(name: string): boolean | undefined {
    const value = Object.hasOwn(this.#body, name) ? this.#body[name] : this.#query.text(name);
    if (value === undefined || typeof value === 'boolean') return value;
    const lower = typeof value === 'string' ? value.toLowerCase() : undefined;
    if (lower !== 'true' && lower !== 'false')
      throw queryParseError(`Invalid boolean parameter for \`${name}\`: ${show(value)}`);
    return lower === 'true';
  }

  /** A whole number, 0 or more. @throws query_parse_error */
  count(name: string): number | undefined {
    if (!Object.hasOwn(this.#body, name)) return this.#query.count(name, noNumber);
    const value = this.#body[name];
    if (!Number.isSafeInteger(value) || (value as number) < 0) throw noNumber(name, value);
    return value as number;
  }
}
