/**
 * Finds out what became of a write whose connection died. The database shows it: every log record, and the state after every rewrite,
 * names the call that wrote it.
 */
import { ioError } from '@settledb/core';
import type { Position } from '@settledb/engine';
import type { Connection } from './connection';
import { readTrace, type Trace } from './reading';

/** `beaten`: it was not done, and others have written meanwhile. */
export type Fate = 'done' | 'absent' | 'beaten';

/** @param by names the call that wrote it */
export async function fateOfCommit(
  connection: Connection,
  name: string,
  n: number,
  by: string,
  expected: Position,
): Promise<Fate> {
  const { state, record } = await trace(connection, name, n);
  if (record?.by === by) return 'done';
  if (record === undefined && state.epoch === expected.epoch) return 'absent';
  // Somebody's commit n was checkpointed since, and its record dropped: it can no longer be told whose it was.
  if (record === undefined && state.through >= n) throw notKnown(name);
  return 'beaten';
}

export async function fateOfRewrite(
  connection: Connection,
  name: string,
  by: string,
  expected: Position,
): Promise<Fate> {
  const { state } = await trace(connection, name, expected.n);
  if (state.by === by) return 'done';
  return state.epoch === expected.epoch ? 'absent' : 'beaten';
}

/**
 * If even this cannot be read, the write may or may not have been done. No later write relies on a guess: if it was done, its number
 * is taken, and is found taken as by a commit of another context.
 */
async function trace(connection: Connection, name: string, n: number): Promise<Trace> {
  try {
    return await connection.replay<Trace>({ stores: ['meta', 'log'], mode: 'readonly' }, (work) =>
      readTrace(work, n),
    );
  } catch (cause) {
    throw notKnown(name, cause);
  }
}

const notKnown = (name: string, cause?: unknown): Error =>
  ioError(`It is not known whether the last write of database "${name}" was done`, cause);
