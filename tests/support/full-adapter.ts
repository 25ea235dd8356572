/**
 * An adapter whose journals have so much room, as Chromium has it: a transaction that puts anything beyond it is refused, also one that
 * takes more away; one that only drops goes through. What is kept back is given, record by record, to writes that make room.
 */
import { quotaExceeded } from '@settledb/core';
import {
  type Adapter,
  BLOCKS_PER_COMMIT,
  type Commit,
  type Journal,
  RESERVED_SHARE,
  type Rewrite,
} from '@settledb/engine';

export class Room {
  /** Characters. */
  limit = Number.POSITIVE_INFINITY;
  record = 64 * 1024;
  /** Records kept back. */
  reserved = 0;
  /** Called before and after each write; what it throws is what the write rejects with. */
  step: (() => void) | undefined;
  readonly #sizes = new Map<number | 'manifest', number>();

  get used(): number {
    let used = this.reserved * this.record;
    for (const size of this.#sizes.values()) used += size;
    return used;
  }

  keep(bytes: number): void {
    while (this.reserved < 8 && (this.reserved + 1) * this.record <= bytes && this.#takes(this.record * 2))
      this.reserved++;
  }

  /** @throws quota_exceeded where there is no room for `puts`. @param left records that it may not have; `undefined`: none of them */
  take(puts: ReadonlyMap<number | 'manifest', number>, left: number | undefined): () => void {
    const length = [...puts.values()].reduce((sum, size) => sum + size, 0);
    while (puts.size > 0 && !this.#takes(length)) {
      if (left === undefined || this.reserved <= left) throw quotaExceeded();
      this.reserved--;
    }
    return () => {
      for (const [id, size] of puts) this.#sizes.set(id, size);
    };
  }

  drop(ids: readonly number[]): void {
    for (const id of ids) this.#sizes.delete(id);
  }

  #takes(length: number): boolean {
    return this.used + length <= this.limit;
  }
}

/** @param room of all its databases together */
export function limited(adapter: Adapter, room: Room): Adapter {
  return {
    ...adapter,
    open: async (name, options) => limitedJournal(await adapter.open(name, options), room),
  };
}

function limitedJournal(journal: Journal, room: Room): Journal {
  const own: Partial<Journal> = {
    async append(commit, expected, durability, makesRoom) {
      room.step?.();
      const taken = room.take(sizesOf(commit), makesRoom && { later: 3, now: 0 }[makesRoom]);
      const missed = await journal.append(commit, expected, durability, makesRoom);
      if (missed === undefined) taken();
      room.keep(room.used * RESERVED_SHARE);
      room.step?.();
      return missed;
    },
    async rewrite(change, expected) {
      room.step?.();
      const taken = room.take(putsOf(change), change.makesRoom ? 0 : undefined);
      const missed = await journal.rewrite(change, expected);
      if (missed === undefined) {
        taken();
        room.drop(change.drop ?? []);
      }
      room.step?.();
      return missed;
    },
    keepBack: (bytes) => room.keep(bytes),
  };
  return new Proxy(journal, {
    get(_target, property) {
      if (property === 'appendNow') return undefined; // which would pass by the limit
      if (property in own) return own[property as keyof Journal];
      const value: unknown = Reflect.get(journal, property, journal);
      return typeof value === 'function' ? value.bind(journal) : value;
    },
  });
}

function sizesOf({ n, head, tail, segments }: Commit): Map<number, number> {
  const sizes = new Map([[n * BLOCKS_PER_COMMIT, head.length + tail.length]]);
  for (const { id, text } of segments) sizes.set(id, text.length);
  return sizes;
}

function putsOf({ put = [], manifest }: Rewrite): Map<number | 'manifest', number> {
  const sizes = new Map<number | 'manifest', number>(put.map(({ id, text }) => [id, text.length]));
  if (manifest !== undefined) sizes.set('manifest', manifest.text.length);
  return sizes;
}
