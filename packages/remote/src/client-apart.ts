/**
 * The answer to `_bulk_get`, cut into documents as text, for documents that are only passed on.
 *
 * The one thing to know: nothing counts as JSON that was not parsed as such. An answer consists of known pieces and of
 * values; if the parts between these pieces each parse as a value, the JSON cannot be read in any other way. A piece that happens to
 * stand within a document leaves parts that do not parse; then the answer is parsed as a whole.
 */
import { type ApartDoc, apartDoc, isRev, type Revisions } from '@settledb/core';
import { checkBulkGetRow } from './client-check';

/** How a server writes an answer: its beginning, and what stands before and after an id. */
type Spelling = readonly [begin: string, id: string, docs: string];

/** Ours; CouchDB's. */
const SPELLINGS: readonly Spelling[] = [
  ['{"results":[', '{"id":', ',"docs":['],
  ['{"results": [', '{"id": ', ', "docs": ['],
];
const END = ']}]}';
const BETWEEN = ']},';
/** Fields of a document as both servers write them: id and revision first, ancestry last. */
const OK = '{"ok":{"_id":';
const REV = ',"_rev":"';
const REVISIONS = ',"_revisions":';

type ApartResult = { readonly id: string; readonly docs: readonly (ApartDoc | object)[] };
type Asked = { readonly id: string; readonly rev?: string | undefined };

/** @returns one result for each of `asked`, in order; `undefined`: the answer is to be parsed as a whole */
export function resultsApart(text: string, asked: readonly Asked[]): ApartResult[] | undefined {
  const spelling = SPELLINGS.find(([begin]) => text.startsWith(begin));
  if (spelling === undefined) return undefined;
  const ids = asked.map(({ id }) => JSON.stringify(id));
  const between = BETWEEN + spelling[1];
  const results: ApartResult[] = [];
  return orUndefined(() => {
    let from = docsAt(text, spelling[0].length, ids[0]!, spelling);
    for (let i = 0; i < asked.length; i++) {
      if (from < 0) return undefined;
      let end = i + 1 < ids.length ? text.indexOf(between, from) : endOf(text);
      let next = end;
      // A piece within a document's own content is followed by another id.
      while (end >= 0 && i + 1 < ids.length) {
        next = docsAt(text, end + BETWEEN.length, ids[i + 1]!, spelling);
        if (next >= 0) break;
        end = text.indexOf(between, end + 1);
      }
      if (end < from) return undefined;
      results.push({ id: asked[i]!.id, docs: rowsIn(text, from, end, ids[i]!, asked[i]!) });
      from = next;
    }
    return results;
  });
}

/** The result of `work`; `undefined` where something is not JSON. */
function orUndefined<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Where the rows of `id` begin, whose result begins at `at`; -1 if there is no such result there. */
function docsAt(text: string, at: number, id: string, [, before, behind]: Spelling): number {
  const idAt = at + before.length;
  const behindAt = idAt + id.length;
  const isThere =
    text.startsWith(before, at) && text.startsWith(id, idAt) && text.startsWith(behind, behindAt);
  return isThere ? behindAt + behind.length : -1;
}

/** Where the last row ends; -1 when the text ends otherwise. */
function endOf(text: string): number {
  const end = text.trimEnd().length - END.length;
  return text.startsWith(END, end) ? end : -1;
}

/** @param json of the id @throws SyntaxError, bad_response */
function rowsIn(text: string, from: number, end: number, json: string, asked: Asked): ApartResult['docs'] {
  const ok = orUndefined(() => docIn(text, from, end, json, asked));
  if (ok !== undefined) return [{ ok }];
  const rows = JSON.parse(`[${text.slice(from, end)}]`) as unknown[];
  return rows.map((row) => checkBulkGetRow(row, asked.id));
}

/** The only document of a row, if there is just one and it has nothing special. */
function docIn(
  text: string,
  from: number,
  end: number,
  json: string,
  { id, rev = '' }: Asked,
): ApartDoc | undefined {
  const idAt = from + OK.length;
  const idEnd = idAt + json.length;
  if (!text.startsWith(OK, from) || !text.startsWith(json, idAt) || !text.startsWith(REV, idEnd))
    return undefined;
  const revAt = idEnd + REV.length;
  const revEnd = text.indexOf('"', revAt);
  // The revision asked for is at hand as a string; a slice of the answer would keep the whole answer in memory.
  const revJson = JSON.stringify(rev);
  const isAsked = revEnd - revAt + 2 === revJson.length && text.startsWith(revJson, revAt - 1);
  const found: unknown = isAsked ? rev : JSON.parse(text.slice(revAt - 1, revEnd + 1));
  const revisionsAt = text.lastIndexOf(REVISIONS, end);
  if (!isRev(found) || revisionsAt <= revEnd || !text.startsWith('}}', end - 2)) return undefined;
  const members = text.slice(revEnd + 1, revisionsAt);
  // A comma alone has no member behind it.
  if (members !== '' && (members.length === 1 || !members.startsWith(','))) return undefined;
  const revisions = JSON.parse(text.slice(revisionsAt + REVISIONS.length, end - 2)) as Revisions;
  return apartDoc(id, found, members.slice(1), revisions);
}
