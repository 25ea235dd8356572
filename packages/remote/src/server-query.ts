/** The options of a request, from its query. */
import { queryParseError } from '@settledb/core';
import { parseJson } from './server-json';

/** Largest whole number taken as an option: more than any timer or list bears. */
const MAX_COUNT = 2 ** 31 - 1;

/** Options of a request. Where one is repeated the last counts, as in CouchDB. */
export class Query {
  readonly #params: URLSearchParams | undefined;

  constructor(params?: URLSearchParams) {
    this.#params = params;
  }

  text(name: string): string | undefined {
    return this.#params?.getAll(name).at(-1);
  }

  /** True or false, and undefined for nonsense, which CouchDB ignores on documents. */
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

/** Most requests have none: no parser is made for them. */
export const NO_QUERY = new Query();
