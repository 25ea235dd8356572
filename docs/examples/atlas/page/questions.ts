/** Questions to begin with, and what a person typed made into one. */

export interface Example {
  readonly label: string;
  readonly text: string;
}

export const SELECTORS: readonly Example[] = [
  {
    label: 'large countries',
    text: `{
  selector: { type: 'country', area: { $gt: 2000000 } },
  sort: [{ area: 'desc' }]
}`,
  },
  {
    label: 'neighbours of two',
    text: `{
  selector: { borders: { $all: ['FRA', 'DEU'] } }
}`,
  },
  {
    label: 'either or',
    text: `{
  selector: { $or: [{ capital: { $beginsWith: 'San' } }, { area: { $lt: 3 } }] }
}`,
  },
];

export const MAPS: readonly Example[] = [
  {
    label: 'countries by region',
    text: `{
  map(doc, emit) {
    if (doc.type === 'country') emit(doc.region);
  },
  reduce: '_count'
}`,
  },
  {
    label: 'area by region',
    text: `{
  map(doc, emit) {
    if (doc.area) emit(doc.region, doc.area);
  },
  reduce: '_stats'
}`,
  },
];

/** An object as a program writes it. It is the person's own page: what is typed may run. */
export function read(text: string): Record<string, unknown> {
  const value: unknown = made(text)();
  if (typeof value !== 'object' || value === null) throw new Error('A question is an object: { … }');
  return value as Record<string, unknown>;
}

function made(text: string): () => unknown {
  try {
    return new Function(`return (${text}\n);`) as () => unknown;
  } catch (error) {
    // The bracket that is not expected is the one that was put behind the text.
    const why = (error as Error).message.replace("Unexpected token ')'", 'it ends too early');
    throw new Error(`This is not yet an object as JavaScript writes it: ${why}`);
  }
}
