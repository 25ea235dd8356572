/**
 * Following a few changes at once: what one or a few edits did to indexes is mapped and committed in the turn in which a query comes.
 * Nearly all of what a pass would cost then is its promises. This works if everything is in memory and the storage takes a commit
 * without waiting; otherwise the usual way is taken, which may then map these few once more. If a map is slow, what was mapped within
 * the time of a slice is committed, and the usual way goes on from there.
 */
import {
  type DatabaseTables,
  type DocRow,
  type InfoRow,
  inMicrotask,
  isDesignId,
  type Store,
  type ViewStateRow,
} from '@settledb/core';
import { commitMappedNow, type Mapped, oldRowsNow } from './chunk';
import type { IndexDefinition } from './index-reader';
import { DOC_TEXTS, Mapper } from './map';
import { SLICE_MS } from './slices';
import { mapOne, Source } from './source';

/** Documents × indexes: a ms, unless maps are slow. */
const MAPS_MAX = 16;

/** Events after the turn is over: nobody expects one before the call has returned. */
export interface FollowedEvents {
  followed(docs: number, through: number, errors: readonly unknown[]): void;
  unasked(view: string, docs: number): void;
}

const NOTHING = { writes: [], value: true } as const;
const NONE: readonly never[] = [];

/** An index that follows, as it is now, and what is mapped for it. */
interface Follower {
  readonly index: IndexDefinition;
  readonly state: ViewStateRow;
  readonly mapped: Mapped;
}

const follower = (index: IndexDefinition, state: ViewStateRow): Follower => ({
  index,
  state,
  mapped: { view: index.id, docs: [], threw: 0 },
});

/**
 * @param state of the index, which is behind `info`, both as they are now
 * @param companions indexes that come along if they are about as far
 * @returns whether `index` holds every change now
 */
export function followNow(
  store: Store<DatabaseTables>,
  index: IndexDefinition,
  state: ViewStateRow,
  info: InfoRow,
  companions: readonly IndexDefinition[],
  events: FollowedEvents,
): boolean {
  if (store.writeNow?.([], () => NOTHING) === undefined) return false;
  const since = state.seq;
  const followers = [follower(index, state)];
  const others = new Map<string, IndexDefinition>();
  for (const each of companions) if (each.id !== index.id) others.set(each.id, each);
  const found = others.size === 0 ? NONE : store.readNow([{ from: 'views', keys: [...others.keys()] }])?.[0];
  if (found === undefined) return false;
  for (const other of found) {
    if (other === undefined || other.seq < since || other.seq >= info.update_seq) continue;
    if (followers.length === MAPS_MAX) break;
    followers.push(follower(others.get(other.view) as IndexDefinition, other));
  }
  const limit = Math.floor(MAPS_MAX / followers.length);
  const range = {
    from: 'docs',
    by: 'seq',
    range: { gt: since },
    limit: limit + 1,
    texts: DOC_TEXTS,
  } as const;
  const docs = store.readNow([range])?.[0];
  if (docs === undefined || docs.length > limit) return false;
  return commit(store, followers, docs, info, events);
}

function commit(
  store: Store<DatabaseTables>,
  followers: readonly Follower[],
  docs: readonly DocRow[],
  info: InfoRow,
  events: FollowedEvents,
): boolean {
  const sources = docs.filter(({ id }) => !isDesignId(id)).map((row) => new Source(row));
  const states = followers.map(({ state }) => state);
  const ofEach = states.map(({ seq }) => sources.filter(({ row }) => row.seq > seq));
  const old = oldRowsNow(
    store,
    ofEach.map((each) => ({ docs: each.map(({ row }) => row) })),
    states,
  );
  if (old === undefined) return false;
  const errors: unknown[] = [];
  const through = mapUntilOver(followers, sources, errors) ?? info.update_seq;
  const mapped = followers.map((each) => each.mapped);
  const after = commitMappedNow(store, mapped, states, old, through, info);
  if (after === undefined) return false;
  const looked = through === info.update_seq ? docs.length : docs.filter(({ seq }) => seq <= through).length;
  inMicrotask(() => events.followed(looked, through, errors));
  for (const { view, docs } of mapped.slice(1)) events.unasked(view, docs.length);
  return after.length === mapped.length && through === info.update_seq;
}

/** @returns the seq of the last change mapped, if time ran out before all were */
function mapUntilOver(
  followers: readonly Follower[],
  sources: readonly Source[],
  errors: unknown[],
): number | undefined {
  const began = performance.now();
  const fail = (error: unknown): void => void errors.push(error);
  for (const source of sources) {
    const { seq } = source.row;
    for (const { index, state, mapped } of followers)
      if (seq > state.seq) mapOne(index, mapperOf(index), source, mapped, fail);
    if (performance.now() - began >= SLICE_MS && source !== sources.at(-1)) return seq;
  }
  return undefined;
}

const mappers = new WeakMap<IndexDefinition, Mapper>();

function mapperOf(index: IndexDefinition): Mapper {
  const known = mappers.get(index);
  if (known !== undefined) return known;
  const made = new Mapper(index.map);
  mappers.set(index, made);
  return made;
}
