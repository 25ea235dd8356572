/**
 * The conformance suite for map/reduce: what contract.md §12 demands of anything with PouchDB's `query`, whatever stores the
 * database and wherever it runs.
 */
import {
  Context,
  declareTopics,
  type Features,
  LOCAL_FEATURES,
  type Open,
  type Topics,
} from '../database/context';
import { followingConformance } from './following';
import { linkedConformance } from './linked';
import { mappingConformance } from './mapping';
import { optionsConformance } from './options';
import { reducingConformance } from './reducing';
import { storedConformance } from './stored';

const TOPICS: Topics = {
  'what a map sees and emits': mappingConformance,
  'options of a query': optionsConformance,
  reducing: reducingConformance,
  'documents of rows': linkedConformance,
  'views in design documents': storedConformance,
  'following changes': followingConformance,
};

/** Tests of these open a database more than once. */
const SEVERAL_HANDLES = ['views in design documents', 'following changes'];

/** @param open gives a handle that evaluates views kept as text; handles of one name are handles on one database */
export function viewsConformance(name: string, open: Open, features: Partial<Features> = {}): void {
  const context = new Context(open, { ...LOCAL_FEATURES, ...features });
  declareTopics(name, context, TOPICS, SEVERAL_HANDLES);
}
