/**
 * Keeps documents that are read again and again as objects: copying one costs a sixth to a half of parsing its text
 * (µs, Chromium 156 and Node 20: 0.15 and 0.17 in place of 0.44 and 0.64 for ten plain fields; 0.39 and 0.4 in place of 0.86 and 1.2
 * with a list and an object among them).
 *
 * Nothing is kept at the first two readings, so reading everything once or twice costs nothing and leaves nothing. What is kept is the
 * content of a row, which never changes: each change of a document has its own seq. The store tells of each row that changes, so a
 * document once seen to be current stays so until the store tells of it, and its row is not looked up again.
 */
import { joinDoc } from '../model/document';
import type { ExistingDoc } from '../model/types';
import type { SortKey } from '../store/keys';
import { type DatabaseTables, type DocRow, storedBody } from '../store/schema';
import type { Store } from '../store/store';

/**
 * Most characters of the texts of all kept documents but the last: 5,000 documents of 300. As objects they take about twice as many
 * bytes; keeping one costs 2 µs, nearly all of it for the garbage collector, which copies what stays.
 */
export const KEPT_LENGTH_MAX = 1.5 * 1024 * 1024;
/** Most documents kept, however short their texts are: one with a field or two takes 150 bytes that its text does not show. */
export const KEPT_MAX = 16 * 1024;
/** Longer documents are parsed each time: a few of them would push out hundreds of others. */
export const DOC_LENGTH_MAX = 8 * 1024;
/** Deeper documents are parsed each time: copying recurses as deep, and the caller may be deep in the stack already. */
const NESTING_MAX = 100;
/**
 * The reading at which a document is kept. It costs what two to four copies save: kept at the second, a document that is listed twice,
 * or listed and then edited, would only cost.
 */
export const KEPT_FROM = 3;
/** Seqs of documents read before, each in its slot modulo this, and how often: 80 KB. A power of two. */
const READ_BEFORE = 16 * 1024;
/** When the cache is full, one in this many documents read again replaces the oldest: the others stay, whatever is read. */
const REPLACED_OF = 16;

interface Kept {
  readonly seq: number;
  readonly rev: string;
  readonly length: number;
  readonly doc: ExistingDoc;
  /** It was seen to be what is stored. */
  isCurrent: boolean;
}

export class KeptDocs {
  readonly #docs = new Map<string, Kept>();
  #read: { readonly seqs: Uint32Array; readonly times: Uint8Array } | undefined;
  /** Characters of the texts of all kept documents. */
  length = 0;
  /** Changes with each change of documents. */
  state = 0;
  #refused = 0;
  #oldest: MapIterator<[string, Kept]> | undefined;

  /**
   * The live document of a row that was read with its `body`. The result belongs to the caller, who may change it.
   * @param state the {@link state} at which `Store.readNow` answered the row; absent if it was read otherwise
   */
  doc(row: DocRow, state?: number): ExistingDoc {
    const { id, seq, rev } = row;
    const isCurrent = state === this.state;
    const kept = this.#docs.get(id);
    if (kept !== undefined) {
      if (kept.seq === seq && kept.rev === rev) {
        if (isCurrent) kept.isCurrent = true;
        return copyOf(kept.doc);
      }
      this.#drop(id, kept);
    }
    const text = storedBody(row);
    const doc = joinDoc(id, rev, false, text);
    const isWanted = text.length <= DOC_LENGTH_MAX && this.#isReadAgain(seq);
    if (isWanted && !isNestedDeeper(doc, NESTING_MAX) && this.#makeRoom()) {
      this.#docs.set(id, { seq, rev, length: text.length, doc: copyOf(doc), isCurrent });
      this.length += text.length;
    }
    return doc;
  }

  /**
   * The document by `id`, if it is kept and, as far as the store knows, current: reliable where the store knows everything
   * (`Store.stateNow`). Its row need not be looked up. Must not be changed; may be given to others only as a copy ({@link copyOf}).
   */
  current(id: string): ExistingDoc | undefined {
    const kept = this.#docs.get(id);
    return kept?.isCurrent ? kept.doc : undefined;
  }

  /** Called when the rows of these documents changed; without ids any row may have. */
  changed(ids: readonly SortKey[] | undefined): void {
    this.state++;
    if (ids === undefined) for (const kept of this.#docs.values()) kept.isCurrent = false;
    else if (this.#docs.size > 0) for (let i = 0; i < ids.length; i++) this.#forget(ids[i] as string);
  }

  #forget(id: string): void {
    const kept = this.#docs.get(id);
    if (kept !== undefined) this.#drop(id, kept);
  }

  #isReadAgain(seq: number): boolean {
    this.#read ??= { seqs: new Uint32Array(READ_BEFORE), times: new Uint8Array(READ_BEFORE) };
    const { seqs, times } = this.#read;
    const at = seq % READ_BEFORE;
    if (seqs[at] !== seq >>> 0) {
      seqs[at] = seq;
      times[at] = 0;
    }
    const time = Math.min(times[at]! + 1, KEPT_FROM);
    times[at] = time;
    return time === KEPT_FROM;
  }

  #makeRoom(): boolean {
    if (!this.#isFull()) return true;
    this.#refused = (this.#refused + 1) % REPLACED_OF;
    if (this.#refused > 0) return false;
    while (this.#isFull()) {
      // The iterator goes on where it stopped: a new one would pass over the slots of everything deleted. All that lies behind it is
      // deleted, and what is kept later comes before its end, so it has a next entry as long as there is any.
      this.#oldest ??= this.#docs.entries();
      this.#drop(...this.#oldest.next().value!);
    }
    return true;
  }

  #isFull(): boolean {
    return this.length >= KEPT_LENGTH_MAX || this.#docs.size >= KEPT_MAX;
  }

  #drop(id: string, { length }: Kept): void {
    this.#docs.delete(id);
    this.length -= length;
  }
}

const keptOf = new WeakMap<Store<DatabaseTables>, KeptDocs>();

/** The kept documents of a store. */
export function keptDocs(store: Store<DatabaseTables>): KeptDocs {
  const known = keptOf.get(store);
  if (known !== undefined) return known;
  const kept = new KeptDocs();
  store.watchRows('docs', (ids) => kept.changed(ids));
  keptOf.set(store, kept);
  return kept;
}

function isNestedDeeper(value: object, levels: number): boolean {
  if (Array.isArray(value)) return value.some((each) => isDeeper(each, levels));
  const fields = value as Record<string, unknown>;
  for (const key in fields) if (isDeeper(fields[key], levels)) return true;
  return false;
}

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === 'object' && value !== null && (levels === 0 || isNestedDeeper(value, levels - 1));

/** A deep copy of a value parsed from JSON. */
export function copyOf<Value extends object>(value: Value): Value {
  if (Array.isArray(value)) return copyOfList(value) as unknown as Value;
  const copy = { ...value } as Record<string, unknown>;
  for (const key in copy) {
    const each = copy[key];
    // Skips what somebody added to the prototype of all objects. A field `__proto__` is an own one here, and is set like any other.
    if (typeof each === 'object' && each !== null && Object.hasOwn(copy, key)) copy[key] = copyOf(each);
  }
  return copy as Value;
}

/** Lists separately: `for … in` makes a string of each index, which costs more than all the rest. */
function copyOfList(list: readonly unknown[]): unknown[] {
  const copy = list.slice();
  for (let i = 0; i < copy.length; i++) {
    const each = copy[i];
    if (typeof each === 'object' && each !== null) copy[i] = copyOf(each);
  }
  return copy;
}
