/** Multipart answers to `_bulk_get`: which part answers which request. */
import { type ExistingDoc, generationOf, isObject, type Rev } from '@settledb/core';
import { parseJson, readText } from './client-answer';
import type { Call } from './client-call';
import type { Http } from './client-http';
import { type Received, type ReceiveOptions, receiveParts } from './client-parts';

interface Asked {
  readonly id: string;
  readonly rev: Rev | undefined;
}

/** The parts of a multipart answer; or the JSON, where the server knows no other form. */
type PartsOrJson =
  | { readonly parts: readonly Received[] }
  | { readonly parts?: undefined; readonly json: unknown };

/** What a call is answered with. @param isData asks for data: as bytes rather than base64, where the server supports it */
export async function partsOrJson(
  http: Http,
  call: Call,
  options: ReceiveOptions,
  isData: boolean,
): Promise<PartsOrJson> {
  if (!isData) return { json: await http.json(call) };
  const accept = 'multipart/mixed, application/json;q=0.9';
  const answer = await http.open({ ...call, accept });
  const type = answer.response.headers.get('content-type');
  if (!type?.startsWith('multipart/')) return { json: parseJson(await readText(answer.pieces)) };
  return { parts: await receiveParts(answer, options, http.bytes) };
}

/** Parts do not name their requests: they answer them in order, or, if a server uses another order, each answers the one it fits. */
export function resultsOf(asked: readonly Asked[], rows: readonly Received[], latest: boolean): unknown[] {
  const found = inOrder(asked, rows, latest) ?? bySearch(asked, rows);
  return asked.map(({ id }, i) => ({
    id,
    docs: found[i]!.map(rowOf),
  }));
}

/** A part as the row of JSON that stands for the same. */
export const rowOf = (part: Received): unknown => ('doc' in part ? { ok: part.doc } : part.other);

function inOrder(
  asked: readonly Asked[],
  rows: readonly Received[],
  latest: boolean,
): Received[][] | undefined {
  const found: Received[][] = asked.map(() => []);
  let at = 0;
  for (const row of rows) {
    while (at < asked.length && !answers(row, asked[at]!, found[at]!, latest)) {
      if (found[at++]!.length === 0) return undefined;
    }
    if (at === asked.length) return undefined;
    found[at]!.push(row);
  }
  return found.every((each) => each.length > 0) ? found : undefined;
}

/** @param before rows that answer the same request: without a revision, or with `latest`, there is one for each leaf of what was asked for */
function answers(row: Received, { id, rev }: Asked, before: readonly Received[], latest: boolean): boolean {
  if ('other' in row) return before.length === 0 && isAbout(row.other, id, rev);
  const { doc } = row;
  if (doc._id !== id) return false;
  if (before.length === 0 && (rev === undefined || rev === doc._rev)) return true;
  if (rev !== undefined && !(latest && descends(doc, rev))) return false;
  return !before.some((other) => 'doc' in other && other.doc._rev === doc._rev);
}

function descends({ _revisions: revisions }: ExistingDoc, rev: Rev): boolean {
  return revisions?.ids?.[revisions.start - generationOf(rev)] === rev.slice(rev.indexOf('-') + 1);
}

/** Finds the rows by id and revision, or else by id. */
function bySearch(asked: readonly Asked[], rows: readonly Received[]): Received[][] {
  const left = new Set(rows);
  const take = (fits: (row: Received) => boolean, most = Number.POSITIVE_INFINITY): Received[] => {
    const taken = [...left].filter(fits).slice(0, most);
    for (const row of taken) left.delete(row);
    return taken;
  };
  const exact = asked.map(({ id, rev }) =>
    take((row) => 'doc' in row && row.doc._id === id && row.doc._rev === rev, 1),
  );
  return asked.map(({ id, rev }, i) => {
    const found = [...exact[i]!, ...take((row) => 'doc' in row && row.doc._id === id)];
    return found.length > 0 ? found : take((row) => 'other' in row && isAbout(row.other, id, rev), 1);
  });
}

/** CouchDB does not say which document lacks the revision. */
function isAbout(other: Record<string, unknown>, id: string, rev: Rev | undefined): boolean {
  const about = isObject(other.error) ? other.error : other;
  if (about.id !== undefined) return about.id === id && (about.rev === rev || rev === undefined);
  return about.rev === rev || about.missing === rev;
}
