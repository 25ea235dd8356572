/** The conformance suite for Mango: what contract.md §13 demands of anything with `find`, wherever its indexes are. */
import { afterEach, describe } from 'vitest';
import { MangoContext, type MangoTraits, type OpenMango } from './context';
import { findConformance } from './find';
import { indexesConformance } from './indexes';
import { planningConformance } from './planning';
import { selectorsConformance } from './selectors';

export type { MangoDatabase, OpenMango } from './context';

/** @param open gives a handle on a database of that name */
export function mangoConformance(name: string, open: OpenMango, traits: MangoTraits = {}): void {
  const context = new MangoContext(open, traits);
  describe(name, () => {
    afterEach(() => context.cleanUp());
    describe('indexes', () => indexesConformance(context));
    describe('find', () => findConformance(context));
    describe('selectors', () => selectorsConformance(context));
    describe('planning', () => planningConformance(context));
  });
}
