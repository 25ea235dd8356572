/** The documents of all cases. */
export interface PerfDoc {
  _id: string;
  [field: string]: unknown;
}

const WORDS =
  'settle offline first document database browser worker tab commit segment journal replica winner leaf'.split(
    ' ',
  );

/** A document of about 300 bytes of JSON in 12 fields, with a random id; the same for every contender of a round. */
export function makeDocs(count: number, random: () => number): PerfDoc[] {
  const word = (): string => WORDS[Math.floor(random() * WORDS.length)] as string;
  const hex = (digits: number): string =>
    Array.from({ length: digits }, () => Math.floor(random() * 16).toString(16)).join('');
  return Array.from({ length: count }, (_, i) => ({
    _id: `${hex(8)}-${hex(4)}-${hex(4)}-${hex(12)}`,
    type: word(),
    title: `${word()} ${word()} ${word()}`,
    number: i,
    score: Math.floor(random() * 100_000),
    active: random() < 0.5,
    created: new Date(1.7e12 + i * 1000).toISOString(),
    tags: [word(), word(), word()],
    author: { name: word(), email: `${word()}@example.com` },
    text: `${word()} ${word()} ${word()} ${word()} ${word()} ${word()}`,
    ratio: random(),
    parent: null,
  }));
}
