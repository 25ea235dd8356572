/** Writes of one tab: a few rows each, some with content, planned from what is found; and what the model is told of them. */

import type { Model } from './model';
import type { PlannedWrite } from './planned';
import { planWrite } from './planned';
import type { Tab } from './platform/tab';
import type { World } from './platform/world';
import { noteOf, type TrialStore } from './rows';

/** Such an error says that a write may have been done. */
const UNKNOWN = /^It is not known whether/;

/** Numbers the writes of a trial. */
export interface Serial {
  next: number;
}

export class Writer {
  readonly #world: World;
  readonly #model: Model;
  readonly #tab: Tab;
  readonly #serial: Serial;

  constructor(world: World, model: Model, tab: Tab, serial: Serial) {
    this.#world = world;
    this.#model = model;
    this.#tab = tab;
    this.#serial = serial;
  }

  /** @param content how often it puts content */
  async write(store: TrialStore, content: number): Promise<void> {
    const { random } = this.#world;
    const by = `${this.#tab.name}.${this.#serial.next++}`;
    const from = this.#model.acknowledged;
    const byte = this.#serial.next % 256;
    const chunks = random.chance(content) ? 1 + random.below(3) : 0;
    const durability = random.chance(0.1) ? 'strict' : 'relaxed';
    const planned: PlannedWrite = planWrite(random);
    let place: string | undefined;
    let isNamed = false;
    try {
      if (chunks > 0) place = await store.blobs.put(this.#chunks(chunks, byte));
      const named = place === undefined ? {} : { place, chunks, byte };
      const n = await store.write(
        [
          { from: 'meta', keys: ['last'] },
          { from: 'docs', keys: planned.ids },
        ],
        ([[last], found]) => {
          const n = (last?.n ?? 0) + 1;
          const { put, removed, changes } = planned.at(n, by, found, named);
          isNamed = put.some((row) => place !== undefined && row.place === place);
          this.#model.plan(by, n, changes);
          return {
            writes: [
              { into: 'docs', put, delete: removed },
              { into: 'meta', put: [{ k: 'last', n, by }] },
              { into: 'past', put: [{ n, by, note: noteOf(n) }], fresh: true },
            ],
            value: n,
            ...(isNamed && { places: [place!] }),
          };
        },
        { durability },
      );
      this.#world.note(`${by} is commit ${n}`);
      this.#model.acknowledge(by, n, from);
    } catch (error) {
      const { name, message } = error as Error;
      this.#world.note(`${by} failed: ${name} ${message}`);
      if (!UNKNOWN.test(message)) this.#model.refuse(by, message);
      if (place !== undefined && !UNKNOWN.test(message)) await store.blobs.drop([place]).catch(() => {});
      throw error;
    } finally {
      if (place !== undefined) store.blobs.release(place);
    }
  }

  /** A write that finds nothing to do has found what was acknowledged before. */
  async writeNothing(store: TrialStore): Promise<void> {
    const from = this.#model.isLasting ? this.#model.acknowledged : 0;
    const n = await store.write([{ from: 'meta', keys: ['last'] }], ([[last]]) => ({
      writes: [],
      value: last?.n ?? 0,
    }));
    if (n < from)
      this.#world.wrong(
        `${this.#tab.name}: a write of nothing has found ${n}, where ${from} was acknowledged`,
      );
  }

  /** All at once, or with pauses in between, in which others sweep. */
  #chunks(count: number, byte: number): Iterable<Uint8Array> | AsyncIterable<Uint8Array> {
    const { random } = this.#world;
    const tab = this.#tab;
    const all = Array.from({ length: count }, () => new Uint8Array(20).fill(byte));
    if (random.chance(0.5)) return all;
    return (async function* () {
      for (const chunk of all) {
        await tab.sleep(random.next() * 30);
        yield chunk;
      }
    })();
  }
}
