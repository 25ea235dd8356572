#!/usr/bin/env node
/**
 * npm run perf:page: docs/performance.html out of the newest result of each suite in perf/results. Bars on a logarithmic scale:
 * how many times the time of settledb each peer took; left of the line a peer was faster. Plain HTML, nothing to load.
 * What the page says of suites without a result here stays: results belong to a machine and are not kept with the program.
 * `npm run perf:page -- FILE` writes it elsewhere.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { figure } from './table.mjs';

const results = fileURLToPath(new URL('results', import.meta.url));
const page = fileURLToPath(new URL('../docs/performance.html', import.meta.url));
const target = process.argv[2] ?? page;
/** Suites that come first, in this order; each in Chromium, with each of its storages, Firefox, WebKitGTK and Node. */
const FIRST = ['documents', 'operations', 'views', 'find', 'replication', 'http'];
const PLACES = ['browser', 'chromium-sqlite', 'chromium-private', 'firefox', 'webkit', 'node'];

/** The scale's ends: a hundredth and a thousand times. What is beyond is drawn to the end; the figure stands beside it. */
const [LOW, HIGH] = [0.01, 1000];
const place = (ratio) =>
  ((Math.log10(Math.min(HIGH, Math.max(LOW, ratio))) - Math.log10(LOW)) /
    (Math.log10(HIGH) - Math.log10(LOW))) *
  100;
const ONE = place(1);

const newest = new Map();
for (const file of readdirSync(results)
  .filter((name) => name.endsWith('.json'))
  .sort()) {
  const result = JSON.parse(readFileSync(join(results, file), 'utf8'));
  if (result.only === undefined) newest.set(result.name, result);
}

const escaped = (text) =>
  String(text).replace(
    /[&<>"]/g,
    (char) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[char],
  );

function bar(peer, ratio, value, unit) {
  const at = place(ratio);
  const [left, width] = ratio >= 1 ? [ONE, at - ONE] : [at, ONE - at];
  const [more, less] = unit === 'ms' ? ['the time', 'faster'] : ['as much', 'less'];
  const words = ratio >= 1 ? `${figure(ratio)}× ${more}` : `${figure(1 / ratio)}× ${less}`;
  return `<div class="peer"><span class="name">${escaped(peer)}</span><span class="scale"><i class="${ratio >= 1 ? 'win' : 'loss'}" style="left:${left.toFixed(2)}%;width:${Math.max(width, 0.3).toFixed(2)}%"></i></span><span class="figure">${words}<small>${figure(value)} ${escaped(unit)}</small></span></div>`;
}

function section({ name, title, documents, where, date, machine, lines, ...table }) {
  if (lines !== undefined)
    return `<section><h2>${escaped(name)}</h2><p class="where">${escaped(`${where}, ${machine}, ${date}`)}</p>${lines.map((line) => `<p>${escaped(line)}</p>`).join('')}</section>`;
  const charts = Object.entries(table.cases).map(([label, found]) => chart(label, found, table));
  const missing = Object.entries(table.missing ?? {}).map(
    ([peer, reason]) => `<p class="where">${escaped(`${peer} took no part: ${reason}`)}</p>`,
  );
  return `<section><h2>${escaped(name)}</h2><p class="where">${escaped(`${documents} ${title}. ${where}, ${machine}, ${date}.`)}</p>${missing.join('')}${charts.join('')}</section>`;
}

function chart(label, { medians, maxima, ratios }, { contenders, units, measures, worst }) {
  const [us] = contenders;
  const unit = measures?.[label] ?? 'ms';
  const most = worst ? `, at worst ${figure(maxima[us])}` : '';
  const own = medians[us] === undefined ? '' : `${us} ${figure(medians[us])} ${unit}${most}`;
  const bars = Object.entries(ratios).map(([peer, ratio]) => bar(peer, ratio, medians[peer], unit));
  return `<article><h3>${escaped(label)} <small>${escaped(units?.[label] ?? '')}</small><b>${escaped(own)}</b></h3>${bars.join('')}</article>`;
}

/** Every case in which a peer was faster, as rows: said before anything else, so that nobody has to look for them. */
function lossesOf({ name, cases = {}, measures = {} }) {
  return Object.entries(cases).flatMap(([label, { ratios }]) =>
    Object.entries(ratios)
      // Of settledb's own variants none is a peer; a tenth is the noise of one run.
      .filter(([peer, ratio]) => ratio < 0.9 && !peer.startsWith('settledb'))
      .map(([peer, ratio]) => {
        const times = `${figure(1 / ratio)}× ${label in measures ? 'less' : 'faster'}`;
        return `<tr>${[name, label, peer, times].map((cell) => `<td>${escaped(cell)}</td>`).join('')}</tr>`;
      }),
  );
}

/** Suite → what the page says of it: as made now, or as it stands there already. */
function suites() {
  const known = existsSync(page) ? readFileSync(page, 'utf8') : '';
  const found = new Map();
  for (const [section, name] of known.matchAll(/<section><h2>([\w-]+\.[\w-]+)<\/h2>.*?<\/section>/gs)) {
    const rows = known.matchAll(new RegExp(`<tr><td>${name.replace('.', '\\.')}</td>.*?</tr>`, 'g'));
    found.set(name, { section, rows: [...rows].map(([row]) => row) });
  }
  for (const [name, result] of newest) found.set(name, { section: section(result), rows: lossesOf(result) });
  if (found.size === 0) throw new Error('perf/results is empty: npm run perf first');
  const rank = (list, word) => (list.includes(word) ? list.indexOf(word) : list.length);
  const ranks = (name) => {
    const [suite, place] = name.split('.');
    return [rank(FIRST, suite), suite, rank(PLACES, place)];
  };
  const inOrder = (a, b) => a[0] - b[0] || (a[1] < b[1] ? -1 : a[1] > b[1] ? 1 : a[2] - b[2]);
  return [...found].sort(([a], [b]) => inOrder(ranks(a), ranks(b))).map(([, suite]) => suite);
}

function lossTable(rows) {
  if (rows.length === 0) return '';
  const times = (row) => Number(/<td>([\d.]+)× \w+<\/td><\/tr>$/.exec(row)[1]);
  const sorted = rows.sort((a, b) => times(b) - times(a));
  return `<section><h2>Where a peer was faster</h2><table>${sorted.join('')}</table></section>`;
}

const style = `
:root{color-scheme:light dark;--ink:#1b2430;--paper:#fbfaf7;--soft:#6b7684;--line:#d9d5cb;--win:#2f7d5b;--loss:#b4532a}
@media(prefers-color-scheme:dark){:root{--ink:#e8e6df;--paper:#14181d;--soft:#97a1ad;--line:#333b44;--win:#57b98b;--loss:#e08a5b}}
*{box-sizing:border-box}body{margin:0 auto;max-width:60rem;padding:2.5rem 1.25rem;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.9rem;margin:0 0 .5rem}h2{margin:3rem 0 .25rem;font-size:1.3rem}h3{display:flex;gap:.6rem;align-items:baseline;font-size:1rem;margin:1.4rem 0 .3rem}
h3 b{margin-left:auto;font-variant-numeric:tabular-nums}small,.where{color:var(--soft);font-weight:400;font-size:.85rem}
.peer{display:grid;grid-template-columns:11rem 1fr 12rem;gap:.75rem;align-items:center;font-size:.9rem}
.scale{position:relative;height:.7rem;background:linear-gradient(var(--soft),var(--soft)) ${ONE}% 0/1px 100% no-repeat,linear-gradient(var(--line),var(--line)) 0 50%/100% 1px no-repeat}
.scale i{position:absolute;top:0;bottom:0;border-radius:2px}.win{background:var(--win)}.loss{background:var(--loss)}
table{border-collapse:collapse;font-size:.9rem;width:100%}td{padding:.15rem .6rem .15rem 0;border-bottom:1px solid var(--line)}td:last-child{text-align:right;font-variant-numeric:tabular-nums;color:var(--loss)}
.figure{font-variant-numeric:tabular-nums}.figure small{display:inline-block;margin-left:.5rem}
@media(max-width:40rem){td{overflow-wrap:anywhere;font-size:.75rem}.peer{grid-template-columns:1fr;gap:.1rem;margin-bottom:.5rem}}`;

const all = suites();
writeFileSync(
  target,
  `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>settledb: measured beside its peers</title><style>${style}</style>
<h1>settledb, measured beside its peers</h1>
<p>Each bar says how long a peer took for the same work, as a multiple of settledb's time, on a logarithmic scale. <b style="color:var(--win)">Right of the line</b> settledb was faster, <b style="color:var(--loss)">left of it</b> the peer was. All contenders run in one process or page, or where the suite says so in one process each, interleaved, their order rotated, after a warm-up round; the figures are medians of whole cases, of three rounds, or of five where cases take a few ms: the ten operations, whose worst round stands beside the median, and documents in Node and Chromium in suites of 26 November 2026 and later. The first rounds of a young process are slower, ours more than others', as there is more code to compile: CPU of 1,000 <code>insertOne</code> in Node, round after round from the warm-up on, 52, 21, 12, 13, 13, 11 ms, of better-sqlite3 17, 15, 15, 15, 16, 14. In Node, and in Chromium in suites of 24 November 2026 and later, what a warm-up compiled is kept, also while others have their turn; in suites of documents, finds, views and operations of 28 November 2026 and later each contender has one more database open from the first round to the last, as an app has (docs/decisions/0030). Chromium has a profile on the disk, as people have it, where the suite says so; suites before 27 November 2026 ran in private windows, whose IndexedDB is in memory. Times belong to one machine on one day, ratios travel better. <code>npm run perf</code> makes the figures, <code>npm run perf:page</code> this page.</p>
${lossTable(all.flatMap(({ rows }) => rows))}
${all.map((suite) => suite.section).join('\n')}
</html>
`,
);
console.log(target);
