/**
 * One write of a journal, tried until its end is known: it waits its turn, and when a connection dies under it, or others were first,
 * what the database has says how it ended.
 */
import { ioError, type MakesRoom } from '@settledb/core';
import type { JournalState, Position } from '@settledb/engine';
import { Undo } from './commits';
import type { Connection } from './connection';
import { isFull, isRefusal, NotTaken } from './failure';
import type { Fairness } from './fairness';
import type { Fate } from './fate';
import type { Presence } from './presence';
import { PutAway } from './put-away';
import type { Room } from './room';

/** Attempts at one write whose connection dies: one on the old, one on a new one. A fault that stays is told. */
const MAX_ATTEMPTS = 2;
/** How often the presence lock may be taken from one write. Each theft takes a second, so this is beyond all honest need. */
const MAX_THEFTS = 10;

export interface Write {
  readonly expected: Position;
  /** Its success proves that no commit of another context is unknown here. */
  readonly isCurrent: boolean;
  /** Where there is no room it may have of the reserve. */
  readonly makesRoom: MakesRoom | undefined;
  /** In one transaction. @throws Undo when it was undone because others were first */
  readonly attempt: (fence: number | undefined) => Promise<JournalState | undefined>;
  /** Asked when the end of an attempt is not known. */
  readonly fate: () => Promise<Fate>;
}

export interface AttemptsHost {
  readonly connection: Connection;
  readonly presence: Presence;
  readonly fairness: Fairness;
  readonly room: Room;
  readonly read: (known: Position) => Promise<JournalState>;
  /** In that term of the presence this context was current. */
  readonly saw: (term: number) => void;
}

export class Attempts {
  readonly #host: AttemptsHost;

  constructor(host: AttemptsHost) {
    this.#host = host;
  }

  /** @returns nothing when it was written; what others did when they were first */
  async make({ expected, isCurrent, makesRoom, attempt, fate }: Write): Promise<JournalState | undefined> {
    const { connection, presence, fairness, room } = this.#host;
    let cause: unknown;
    let thefts = 0;
    let refusals = 0;
    for (let failures = 0; failures < MAX_ATTEMPTS; ) {
      const turn = fairness.turn();
      if (turn !== undefined) await turn;
      await presence.enter();
      const { term, fence } = presence;
      try {
        const answer = await attempt(fence);
        if (isCurrent) this.#host.saw(term);
        return answer;
      } catch (failure) {
        cause = failure;
        if (failure instanceof PutAway) continue; // and does it when the page is back, if nobody else was first
        if (failure instanceof Undo && failure.why === 'fenced') {
          presence.fenced();
          if (++thefts < MAX_THEFTS) continue;
          throw ioError('Other contexts took the lock by force again and again', failure);
        }
        if (!(failure instanceof Undo)) {
          if (isFull(failure) && (await room.make(makesRoom, refusals++))) continue;
          if (isRefusal(failure)) throw failure;
          presence.doubt();
          connection.drop();
        }
        // What beat a second attempt may be the first one, come late.
        const found = failure instanceof Undo && failures === 0 ? 'absent' : await fate();
        if (found === 'done') return undefined;
        if (found === 'beaten' || failure instanceof Undo) return await this.#host.read(expected);
        // Tried again, and so it was the disk.
        const isMeant = failures > 0 && failure instanceof NotTaken;
        if (makesRoom !== undefined && isMeant && (await room.give(makesRoom))) continue;
        failures++;
      } finally {
        presence.leave();
      }
    }
    throw cause;
  }
}
