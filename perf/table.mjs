/** Results → a table that a person can read. */

export const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

/** Per case: medians, minima and maxima by contender, and how many times faster than each other contender the first one is. */
export function summarize({ documents, rounds }) {
  const [us, ...peers] = Object.keys(rounds);
  const cases = {};
  const labels = new Set(Object.values(rounds).flatMap((each) => Object.keys(each[0] ?? {})));
  for (const label of labels) {
    const medians = {};
    const minima = {};
    const maxima = {};
    for (const name of [us, ...peers]) {
      const values = rounds[name].map((round) => round[label]).filter((value) => value !== undefined);
      if (values.length === 0) continue;
      medians[name] = median(values);
      minima[name] = Math.min(...values);
      maxima[name] = Math.max(...values);
    }
    const ratios = Object.fromEntries(
      peers
        .filter((name) => medians[name] !== undefined && medians[us] !== undefined)
        .map((name) => [name, medians[name] / medians[us]]),
    );
    cases[label] = { medians, minima, maxima, ratios };
  }
  return { documents, contenders: [us, ...peers], cases };
}

/** Three digits that count. */
export const figure = (value) =>
  value === undefined
    ? ''
    : value >= 100
      ? value.toFixed(0)
      : value >= 10
        ? value.toFixed(1)
        : value >= 0.1
          ? value.toFixed(2)
          : value.toPrecision(2);

/** @param answer what a suite answered: its units, what is not measured in ms, who took no part */
export function printTable(title, { contenders, cases }, { units, measures, worst, missing }) {
  const [us, ...peers] = contenders;
  const unit = Object.keys(measures).length > 0 ? '' : ' ms';
  const own = [`${us}${unit}`, ...(worst ? ['worst'] : [])];
  const header = ['case', ...own, ...peers.flatMap((name) => [`${name}${unit}`, '×'])];
  const rows = Object.entries(cases).map(([label, { medians, maxima, ratios }]) => [
    unit === '' ? `${label}, ${measures[label] ?? 'ms'}` : label,
    figure(medians[us]),
    ...(worst ? [figure(maxima[us])] : []),
    ...peers.flatMap((name) => [
      figure(medians[name]),
      ratios[name] === undefined ? '' : `${figure(ratios[name])}×`,
    ]),
  ]);
  const widths = header.map((_, i) => Math.max(...[header, ...rows].map((row) => row[i].length)));
  const line = (row) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('  ');
  console.log(`\n${title}`);
  console.log(line(header));
  console.log(widths.map((width) => '─'.repeat(width)).join('  '));
  for (const row of rows) console.log(line(row));
  console.log('\nMedians of whole cases; × = how many times faster settledb is (below 1: slower).');
  for (const label of Object.keys(cases)) if (units[label]) console.log(`  ${label}: ${units[label]}`);
  for (const [name, reason] of Object.entries(missing)) console.log(`  ${name} took no part: ${reason}`);
}
