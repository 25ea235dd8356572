/** Results → a table that a person can read. */

export const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

/** Per case: medians and minima by contender, and how many times faster than each other contender the first one is. */
export function summarize({ documents, rounds }) {
  const [us, ...peers] = Object.keys(rounds);
  const cases = {};
  for (const label of Object.keys(rounds[us][0])) {
    const medians = {};
    const minima = {};
    for (const name of [us, ...peers]) {
      const values = rounds[name].map((round) => round[label]).filter((value) => value !== undefined);
      if (values.length === 0) continue;
      medians[name] = median(values);
      minima[name] = Math.min(...values);
    }
    const ratios = Object.fromEntries(
      peers.filter((name) => medians[name] !== undefined).map((name) => [name, medians[name] / medians[us]]),
    );
    cases[label] = { medians, minima, ratios };
  }
  return { documents, contenders: [us, ...peers], cases };
}

const figure = (value) =>
  value === undefined
    ? ''
    : value >= 100
      ? value.toFixed(0)
      : value >= 10
        ? value.toFixed(1)
        : value.toFixed(2);

export function printTable(title, { contenders, cases }, units) {
  const [us, ...peers] = contenders;
  const header = ['case', `${us} ms`, ...peers.flatMap((name) => [`${name} ms`, '×'])];
  const rows = Object.entries(cases).map(([label, { medians, ratios }]) => [
    label,
    figure(medians[us]),
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
}
