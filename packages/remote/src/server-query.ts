/** The options of a request, from its query. */
import { queryParseError } from '@settledb/core';
import { parseJson } from './server-json';

/** Largest whole number accepted as an option: timers and lists bear no more. */
const MAX_COUNT = 2 ** 31 - 1;

/** Options of a request. If one is repeated the last counts, as in CouchDB. */
export class Query {
  readonly #params: URLSearchParams | undefined;

  constructor(params?: URLSearchParams) {
    this.#params = params;
  }

  text(name: string): string | undefined {
    return this.#params?.getAll(name).at(-1);
  }

  /** True or false; undefined for a senseless value, which CouchDB ignores for documents. */
  flag(name: string): boolean | undefined {
    const value = this.text(name);
    return value === 'true' ? true : value === 'false' ? false : undefined;
  }

  /** A JSON value. @throws bad_request */
  json(name: string): unknown {
    const value = this.text(name);
    return value === undefined ? undefined : parseJson(value);
  }

  /** A whole number, 0 or more. @throws query_parse_error: CouchDB's, or `refusal` */
  count(name: string, refusal = noInteger): number | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    if (!/^\d{1,20}$/.test(value)) throw refusal(name, value);
    return Math.min(Number(value), MAX_COUNT);
  }

  entries(): Iterable<[string, string]> {
    return this.#params?.entries() ?? [];
  }
}

const noInteger = (_name: string, value: unknown): Error =>
  queryParseError(`Invalid value for integer: ${JSON.stringify(value)}`);

/** Most requests have no options: no parser is made for them. */
export const NO_QUERY = new Query();
