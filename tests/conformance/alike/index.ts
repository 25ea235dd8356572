/**
 * Whatever a database is kept in, and whichever way it is reached, the same calls have the same answers: two databases are asked the
 * same, by chance, and one of them is closed and opened anew in between. Of what is wrong with a call they say the same words.
 */
import { memory } from '@settledb/adapter-memory';
import type { DatabaseError } from '@settledb/core';
import { expect, it } from 'vitest';
import { evaluate } from '../../../packages/settledb/src/eval';
import type { SettleDB } from '../../../packages/settledb/src/settledb';
import { Random, timeFor, trials } from '../../replication/random';
import { type Call, Calls, DESIGN } from './calls';

/** A database as it is asked here: a method by its name, with whatever. */
type Asked = Readonly<Record<string, (...given: unknown[]) => Promise<unknown>>>;

/** What it is opened with. */
interface Opening {
  readonly evaluate: typeof evaluate;
  readonly revs_limit?: number;
  readonly auto_compaction?: boolean;
}

/** As many as in a second or two. */
const CALLS = 400;
const TRIALS = 3;
const REOPENED = 0.02;

export interface AlikeOptions {
  /** The entry's class, of which the database in memory is. */
  readonly Base: typeof SettleDB;
  /** What opens the database of a name; again, once it was closed. Asked within the test. */
  readonly opener: () => (name: string, options: Opening) => object;
  /** Its limits are those of a server. */
  readonly isRemote?: boolean;
  /** Calls that are documented to be answered differently there. */
  readonly differs?: (call: Call) => boolean;
  /** Members of answers that are not the same there. */
  readonly own?: readonly string[];
}

/** @param kind of the databases that are compared with one in memory */
export function answersAlike(kind: string, given: AlikeOptions): void {
  const { Base, opener, isRemote = false, differs = () => false, own = [] } = given;
  it(
    `a database ${kind} answers like one in memory, whatever is asked`,
    () =>
      trials(TRIALS, async (seed) => {
        const random = new Random(seed);
        const calls = new Calls(seed);
        const limits = { revs_limit: random.pick([3, 1000]), auto_compaction: random.chance(0.3) };
        const options: Opening = { evaluate, ...(!isRemote && limits) };
        const name = `alike-${kind.replaceAll(/\W/g, '-').toLowerCase()}-${seed}`;
        const model = new Base(name, { ...options, adapter: memory() });
        const open = opener();
        let db = open(name, options);
        const left = new Set(own);
        for (let n = 0; n < CALLS; n++) {
          const asked: Call = n === 0 ? ['put', DESIGN] : calls.next();
          if (differs(asked)) continue;
          const expected = await answerOf(model, asked, left);
          const answer = await answerOf(db, asked, left);
          expect({ n, asked, answer }).toEqual({ n, asked, answer: expected });
          calls.heard(expected);
          if (!random.chance(REOPENED)) continue;
          await call(db, 'close');
          db = open(name, options);
        }
        await model.destroy();
        await call(db, 'destroy');
      }),
    timeFor(TRIALS),
  );
}

/** As JSON, without the members that are left out; of an error, everything that a program may look at. */
async function answerOf(db: object, [verb, ...given]: Call, left: ReadonlySet<string>): Promise<unknown> {
  try {
    const answer = await call(db, verb, ...structuredClone(given));
    return verb === 'getAttachment'
      ? await bytesOf(answer as Blob | Uint8Array)
      : JSON.parse(JSON.stringify(answer ?? null, (name, value) => (left.has(name) ? undefined : value)));
  } catch (error) {
    const { status, name, reason, docId } = error as Partial<DatabaseError>;
    return status === undefined ? String(error) : { status, name, reason, docId };
  }
}

const call = (db: object, verb: string, ...given: unknown[]): Promise<unknown> =>
  (db as Asked)[verb]!(...given);

/** What a program gets is a Blob or, in Node, a Buffer. */
const bytesOf = async (content: Blob | Uint8Array): Promise<number[]> => [
  ...(content instanceof Blob ? new Uint8Array(await content.arrayBuffer()) : content),
];
