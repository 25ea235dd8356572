/** Rounds of all contenders, interleaved, the order rotated, so that noise of the machine falls on all alike. */
import { type Round, runRound } from './cases';
import { type Contender, makeDocs } from './contender';

export interface Results {
  readonly documents: number;
  /** Contender → its rounds, the warm-up left out. */
  readonly rounds: Record<string, Round[]>;
}

export async function runRounds(
  contenders: readonly Contender[],
  documents: number,
  rounds: number,
  random: () => number,
  log: (line: string) => void,
): Promise<Results> {
  const results: Record<string, Round[]> = Object.fromEntries(contenders.map(({ name }) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    const docs = makeDocs(documents, random);
    for (let i = 0; i < contenders.length; i++) {
      const contender = contenders[(i + round) % contenders.length] as Contender;
      log(`${round === 0 ? 'warm-up' : `round ${round} of ${rounds}`}: ${contender.name}`);
      const result = await runRound(contender, docs, `perf-${Date.now()}-${round}-${i}`);
      if (round > 0) results[contender.name]?.push(result);
    }
  }
  return { documents, rounds: results };
}
