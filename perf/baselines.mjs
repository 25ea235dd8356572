/** The ratios that were last accepted, a file for each suite. Ratios, because times belong to one machine on one day. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A ratio below this part of the accepted one is a regression. Between runs medians of three rounds differ by a tenth or so. */
const TOLERATED = 0.75;

const pathOf = (name) => fileURLToPath(new URL(`baselines/${name}.json`, import.meta.url));

export function acceptBaseline(name, { cases }) {
  mkdirSync(fileURLToPath(new URL('baselines', import.meta.url)), { recursive: true });
  const rounded = (ratios) =>
    Object.fromEntries(Object.entries(ratios).map(([peer, ratio]) => [peer, Number(ratio.toPrecision(3))]));
  const ratios = Object.entries(cases).map(([label, found]) => [label, rounded(found.ratios)]);
  writeFileSync(pathOf(name), `${JSON.stringify(Object.fromEntries(ratios), null, 2)}\n`);
}

/** One line for each case and peer that fell behind. A suite without a baseline has none. */
export function regressions(name, { cases }) {
  if (!existsSync(pathOf(name))) return [];
  const accepted = JSON.parse(readFileSync(pathOf(name), 'utf8'));
  return Object.entries(cases).flatMap(([label, { ratios }]) =>
    Object.entries(ratios)
      .filter(([peer, ratio]) => ratio < (accepted[label]?.[peer] ?? 0) * TOLERATED)
      .map(([peer, ratio]) => `${label}: ${ratio.toFixed(2)}× ${peer}, accepted ${accepted[label][peer]}×`),
  );
}
