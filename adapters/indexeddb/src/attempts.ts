/**
 * One write of a journal, tried until its outcome is known. It waits for its turn; when a connection dies under it, or others were
 * first, the database itself shows how it ended.
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

/** Attempts at one write whose connection dies: one on the old connection, one on a new one. A lasting fault is reported. */
const MAX_ATTEMPTS = 2;
/** How often the presence lock may be taken by force from one write. Each theft takes a second, so honest contexts never need more. */
const MAX_THEFTS = 10;

export type Transact = Connection['transact'];

interface Write {
  readonly expected: Position;
  /** Whether success proves that this context knows all commits of others. */
  readonly isCurrent: boolean;
  /** If there is no room, the write may use some of the reserve. */
  readonly makesRoom: MakesRoom | undefined;
  /** Runs in one transaction, which it begins by `transact`. @throws Undo when it was undone because others were first */
  readonly attempt: (fence: number | undefined, transact: Transact) => Promise<JournalState | undefined>;
  /** Called when the outcome of an attempt is not known: not if none has come to ask the storage for anything. */
  readonly fate: () => Promise<Fate>;
}

/** What a write needs of its journal. */
export interface Writing {
  readonly connection: Connection;
  readonly presence: Presence;
  readonly fairness: Fairness;
  readonly room: Room;
  readonly read: (known: Position) => Promise<JournalState>;
  /** This context was current in that term of the presence. */
  readonly saw: (term: number) => void;
}

/** @returns nothing if the write was done; what others did if they were first */
export async function tryUntilKnown(
  { connection, presence, fairness, room, read, saw }: Writing,
  { expected, isCurrent, makesRoom, attempt, fate }: Write,
): Promise<JournalState | undefined> {
  let cause: unknown;
  let thefts = 0;
  let refusals = 0;
  let hasAsked = false;
  const transact: Transact = (scope, requests) =>
    connection.transact(scope, (work) => {
      hasAsked = true;
      requests(work);
    });
  for (let failures = 0; failures < MAX_ATTEMPTS; ) {
    const turn = fairness.turn();
    if (turn !== undefined) await turn;
    await presence.enter();
    const { term, fence } = presence;
    try {
      const answer = await attempt(fence, transact);
      if (isCurrent) saw(term);
      return answer;
    } catch (failure) {
      cause = failure;
      if (failure instanceof PutAway) continue; // tried again when the page is back, unless another is first
      if (failure instanceof Undo && failure.why === 'fenced') {
        presence.fenced();
        if (++thefts < MAX_THEFTS) continue;
        throw ioError('Other contexts took the lock by force again and again', failure);
      }
      if (!(failure instanceof Undo)) {
        if (isFull(failure) && (await room.make(makesRoom, refusals++))) continue;
        if (isRefusal(failure)) throw failure;
        presence.doubt();
      }
      // A second attempt may have been beaten by the first one, arriving late.
      const isAbsent = !hasAsked || (failure instanceof Undo && failures === 0);
      const found = isAbsent ? 'absent' : await fate();
      if (found === 'done') return undefined;
      if (found === 'beaten' || failure instanceof Undo) return await read(expected);
      // It was refused when tried again too, so the disk is full.
      const isMeant = failures > 0 && failure instanceof NotTaken;
      if (makesRoom !== undefined && isMeant && (await room.give(makesRoom))) continue;
      failures++;
    } finally {
      presence.leave();
    }
  }
  throw cause;
}
