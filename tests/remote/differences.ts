/**
 * Where our server answers otherwise than CouchDB 3.5.2 did when it was recorded, and why. docs/couchdb-differences.md says the
 * same to people; a test compares the two.
 */
export interface Reason {
  readonly request: RegExp;
  readonly what: RegExp;
  readonly why: string;
  /** It depends on chance whether the difference shows. */
  readonly sometimes?: true;
  /** It is about something that the server does not offer: such exchanges count for neither side. */
  readonly notOffered?: true;
}

export const REASONS: readonly Reason[] = [
  {
    request: /rec_bd\/_all_docs\?conflicts/,
    what: /rows/,
    why: 'a document with a random id is listed where its id sorts',
    sometimes: true,
  },
  {
    request: /u{60}|rec_ad2$|rec_ad2\/cl/,
    what: /400|500/,
    why: 'the lengths of URLs and headers, and Content-Length, are checked by Node (see node.test.ts), not by the handler',
  },
  {
    request: /rec_ad2\/ov/,
    what: /status 405/,
    why: 'X-HTTP-Method-Override is not offered',
    notOffered: true,
  },
  {
    request: /GET \/rec_ab$/,
    what: /status 200, CouchDB 401/,
    why: 'the scheme `basic` may be written in any case',
  },
  {
    request: /GET \/rec_ab$/,
    what: /status 401, CouchDB 302/,
    why: 'there is no login page to redirect to',
    notOffered: true,
  },
  {
    request: /_shards|_scheduler/,
    what: /status 404/,
    why: 'there are no shards and no scheduler to ask about',
    notOffered: true,
  },
  { request: /_db_updates/, what: /status 404/, why: '_db_updates is not offered', notOffered: true },
  {
    request: /_design%2Fa/,
    what: /status 200, CouchDB 301/,
    why: 'a design document is answered under `_design%2Fname` too, without a redirect',
  },
  {
    request: /rec_dd\/_design\/(syntax|reduce_syntax|not_function)|rec_dd\/_(all|design)_docs/,
    what: /status 201, CouchDB 400|total_rows: 9, CouchDB 6/,
    why: 'functions of design documents are not compiled when they are stored',
  },
  {
    request: /_(update|show)\/|rec_upd\/x/,
    what: /status (501|404)/,
    why: 'update, show, list and rewrite functions are not offered: CouchDB has deprecated them',
    notOffered: true,
  },
  {
    request: /rec_values\/d[34]/,
    what: /status 201, CouchDB 400/,
    why: 'half a surrogate pair in a value is kept as it is; only ids must be UTF-8',
  },
  {
    request: /GET \/_replicate/,
    what: /status 405/,
    why: 'a GET of _replicate is answered as a wrong method, not as a wrong body',
  },
  {
    request: /_replicator/,
    what: /status 404/,
    why: 'there is no _replicator database: see _replicate',
    notOffered: true,
  },
  {
    request: /_all_docs/,
    what: /body\.(results\.\d\.)?offset: 0/,
    why: 'offset is the value of `skip`',
  },
  {
    request: /rec_ado\/_all_docs/,
    what: /rows\.\d+\.id/,
    why: 'ids sort by UTF-16 code unit on every adapter, by UTF-8 byte in CouchDB',
  },
  {
    request: /_changes/,
    what: /results\.\d+\.id/,
    why: 'nobody promises an order within one _bulk_docs, and repeated doc_ids give one row',
  },
  {
    request: /_changes/,
    what: /pending: (nothing|0), CouchDB [1-9]/,
    why: 'with doc_ids, CouchDB’s pending also counts rows that it filtered out',
  },
  {
    request: /since=(99|3|&|$|%22)/,
    what: /status 200, CouchDB 400/,
    why: 'our sequences consist of digits only, and may be in quotes',
  },
  {
    request: /descending=true&since/,
    what: /results\.3: nothing/,
    why: 'with descending, CouchDB also gives the change at since itself',
  },
  {
    request: /seq_interval/,
    what: /results\.1\.seq/,
    why: 'every row has its seq: seq_interval allows leaving some out, and does not require it',
  },
  {
    request: /(limit|timeout)=-1/,
    what: /status 400, CouchDB 200/,
    why: 'a negative limit or timeout is refused, not interpreted',
  },
  {
    request: /filter=f\/tx/,
    what: /status 403/,
    why: 'the server does not run functions of design documents',
    notOffered: true,
  },
  {
    request: /_bulk_get/,
    what: /status 200, CouchDB 500/,
    why: 'an invalid id in _bulk_get is an error in its row, not a failure of the request',
  },
  {
    request: /_bulk_get/,
    what: /"3-b+", CouchDB "3-a+"/,
    why: 'leaves are listed highest first',
  },
  { request: /open_revs=all/, what: /"9-9+", CouchDB "3-c+"/, why: 'leaves are listed highest first' },
  {
    request: /rec_ne\//,
    what: /1-A{32}/,
    why: 'upper-case hashes in revisions made elsewhere are taken as they are',
  },
  {
    request: /_revs_diff/,
    what: /missing\.0/,
    why: 'missing revisions are listed in the order in which they were asked for',
  },
  {
    request: /PUT .*_local\/a/,
    what: /status 409/,
    why: 'an edit of a _local document must name its revision, so that checkpoints are not overwritten blindly',
  },
  {
    request: /rec_local\/_bulk_docs/,
    what: /_local\/bulk2/,
    why: '_local documents in _bulk_docs must name their revision too',
  },
  {
    request: /_local_docs/,
    what: /_local\/bulk2|doc.v: 2/,
    why: 'later answers differ because those edits were refused',
  },
  {
    request: /_local\/a\?revs=true/,
    what: /body\.v: 2/,
    why: 'a later answer differs because that edit was refused',
  },
  {
    request: /PUT \/rec_doc\/new/,
    what: /status 409/,
    why: 'an edit of a document that does not exist is a conflict',
  },
  {
    request: /revs_info=true/,
    what: /status: "available", CouchDB "deleted"/,
    why: 'a past revision that is deleted is `available`, not `deleted`',
  },
  {
    request: /rec_post(\?new_edits=false|\/ne)/,
    what: /status 4\d\d, CouchDB 20/,
    why: 'in a POST to a database CouchDB ignores new_edits=false, and makes a revision whose parent nobody has',
  },
  { request: /\.\.\/rec_paths/, what: /status 200/, why: '`..` in a path is resolved by the URL class' },
  {
    request: /(PATCH|OPTIONS) \/rec_paths/,
    what: /Only DELETE/,
    why: 'the lists of allowed methods are ours',
  },
  {
    request: /_nonsense/,
    what: /status 404, CouchDB 401/,
    why: 'the server in this test is open to everyone',
  },
  {
    request: /rec_utf8\/(att\/)?%FF$|startkey=%22%FF/,
    what: /illegal_docid|status 400, CouchDB 404|Attachment|invalid_url_encoding/,
    why: 'a URL that is not UTF-8 is refused as a URL, before it is known what it would name',
  },
  {
    request: /rec_ado.*_view|rec_vc|rec_fcom\/_find/,
    what: /rows\.\d+\.(id|value)|docs\.\d+(\._id|: nothing)|status 200, CouchDB 400/,
    why: 'view keys and Mango compare strings by UTF-16 code unit, CouchDB by ICU (decisions/0002)',
  },
  {
    request: /_view\//,
    what: /body\.(results\.\d\.)?offset/,
    why: 'the offset of a view is the value of `skip`, as for _all_docs',
  },
  {
    request: /rec_vb\/_design\/sum_/,
    what: /status 500, CouchDB 200/,
    why: 'a value that _sum cannot add fails the request; CouchDB puts an error object among the values',
  },
  {
    request: /rec_vb\/_design\/(top_|spaces|empty)/,
    what: /not a supported reduce|status 201, CouchDB 40/,
    why: 'the words for reduces that do not exist are ours; an empty reduce, and one with spaces around its name, can be stored',
  },
  {
    request: /rec_vs\/_design\/(u|env|cjs|sx_named|sx_helper)/,
    what: /body|status/,
    why: 'functions run in the server’s own engine, not in QuickJS: a named function is accepted, and there are no helper functions beside it, no `require` and no `toJSON`',
  },
  {
    request: /include_design\/_view/,
    what: /total_rows: 0/,
    why: 'design documents are not mapped: `options.include_design` and `local_seq` of views are not offered',
    notOffered: true,
  },
  {
    request: /rec_ia\/_index/,
    what: /_design\/idx-|ddoc|<<|\{\[|invalid_index/,
    why: 'the names given to unnamed indexes, and the words for what is wrong with an index, are ours',
  },
  {
    request: /rec_vp\/_design\/v\/_view/,
    what: /<<|POST body must include/,
    why: 'the words for invalid options are ours (CouchDB shows Erlang terms)',
  },
  {
    request: /rec_vp\/_design\/v\/_view\/t$/,
    what: /status 200, CouchDB 400/,
    why: 'options beside `queries` are the defaults of each query',
  },
  {
    request: /rec_a(g|i|z|rp)|rec_ca|rec_mp|rec_t(src|dst)|rec_dd\/_design\/att|rec_la/,
    what: /accept-ranges: bytes|encoding: nothing|status 206, CouchDB 200|digest: "md5-|content-encoding/,
    why: 'attachments are stored as they arrive: compressible types are not compressed, their digests are of the content, and ranges of them work',
  },
  {
    request: /rec_a(i|rp)\/(_bulk_docs|ok|b$)/,
    what: /status 20[01], CouchDB 4(12|04)/,
    why: 'if a stub matches nothing, only its own document is refused, not the whole request; and a stub may name, by its digest, any content that is here',
  },
  {
    request: /rec_ai\/(nop|us)$/,
    what: /Invalid attachment data/,
    why: 'the error does not say which attachment is not base64',
  },
  {
    request: /rec_la\/_bulk_docs/,
    what: /reason: "c: x"/,
    why: 'an attachment that is too large within _bulk_docs is named with its document',
  },
  {
    request: /rec_at\/a/,
    what: /status 201, CouchDB 412|another revision|409, CouchDB 201|body.v: 1|200, CouchDB 404|revpos: 6/,
    why: 'what a stub says about type, length and revpos is ignored, so it cannot be wrong (and later answers differ because of that edit)',
  },
  {
    request: /rec_at\/a\/b.bin\?rev/,
    what: /"conflict", CouchDB "not_found"/,
    why: 'putting an attachment on a revision that does not exist is an error named `conflict`, as its status says',
  },
  {
    request: /rec_ar\/a\/b.bin If-Range/,
    what: /status 200, CouchDB 206/,
    why: 'a range with an `If-Range` that does not name the content (RFC 9110, 13.1.5) is answered with the whole content, which CouchDB does not heed: a download that is resumed would mix two contents',
  },
  {
    request: /rec_ar\/a\/b.bin/,
    what: /bytes 0-15\/16, CouchDB bytes 1-15|status 200, CouchDB 206/,
    why: 'the last 99 bytes of 16 are all 16, and an empty list of ranges is no range',
  },
  {
    request: /rec_mp\/(w|nb)/,
    what: /status|boundary/,
    why: 'the words for a multipart body without boundary are ours',
  },
  {
    request: /rec_mp\/_all_docs/,
    what: /total_rows|rows/,
    why: 'a multipart document in which no attachment follows is stored; CouchDB never answers',
  },
  {
    request: /rec_arp\/a\?open_revs/,
    what: /"4-b+", CouchDB "4-a+"/,
    why: 'leaves are listed highest first',
  },
  {
    request: /_design\/a\/_info|rec_ia\/_design/,
    what: /collator_versions|partial_filter_selector/,
    why: 'there is no ICU version to report, and no empty filter in an index',
  },
  {
    request: /_design\/a\/_info/,
    what: /view_index\.(rows|map_errors)/,
    why: 'the information about an index also counts its rows, and how often a map has failed since it was built, also for documents mended since',
  },
  {
    request: /rec_fo\/_find/,
    what: /warning: nothing/,
    why: 'where an index serves after all, there is no warning',
  },
];
