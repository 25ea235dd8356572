/**
 * Outgoing operations: those of one turn go as one message.
 *
 * A message costs tens of microseconds whatever it carries, an operation in it about one. So nothing is sent before the microtasks
 * that add more operations have run; this wait takes only microtasks, and delays a lone call by less than one operation costs.
 */

/** Most operations in one message: see PART in wire.ts; one operation may be such a part. */
const MOST = 2_000;

/** An operation that is made when its turn comes, and after which other tasks get theirs. It must not throw. */
export type Later<Op> = () => Op;

export class Outbox<Op> {
  readonly #send: (ops: readonly Op[]) => void;
  readonly #hops: number;
  #ops: (Op | Later<Op>)[] = [];
  /** How many of them are still to be made. */
  #laters = 0;
  #busy = false;

  /** @param hops microtasks without a further operation after which a message goes */
  constructor(send: (ops: readonly Op[]) => void, hops: number) {
    this.#send = send;
    this.#hops = hops;
  }

  add(op: Op | Later<Op>): void {
    this.#push(op);
    if (!this.#busy) void this.#run();
  }

  /** Sends it, and all that waits, at once, unless an operation is still to be made: nothing more is to go with it. */
  addLast(op: Op): void {
    this.#push(op);
    if (this.#laters === 0) this.#next();
    if (!this.#busy && this.#ops.length > 0) void this.#run();
  }

  /** Sends all that waits at once. */
  flush(): void {
    while (this.#ops.length > 0) this.#next();
  }

  #push(op: Op | Later<Op>): void {
    if (typeof op === 'function') this.#laters++;
    this.#ops.push(op);
  }

  async #run(): Promise<void> {
    this.#busy = true;
    while (this.#ops.length > 0) {
      for (let quiet = 0, seen = 0; quiet < this.#hops && seen < MOST; quiet++) {
        if (this.#ops.length > seen) [quiet, seen] = [0, this.#ops.length];
        await undefined;
      }
      if (this.#next() && this.#ops.length > 0) await otherTasks();
    }
    this.#busy = false;
  }

  /** @returns whether the message was too large for another one in the same task */
  #next(): boolean {
    const ops = this.#ops;
    if (this.#laters === 0 && ops.length <= MOST) {
      this.#ops = [];
      if (ops.length > 0) this.#send(ops as Op[]);
      return ops.length === MOST;
    }
    const first = ops[0];
    if (typeof first === 'function') {
      ops.shift();
      this.#laters--;
      this.#send([(first as Later<Op>)()]);
      return true;
    }
    const later = ops.findIndex((op, at) => typeof op === 'function' || at === MOST);
    this.#send(ops.splice(0, later) as Op[]);
    return later === MOST;
  }
}

/** Resolves when waiting tasks had their turn. */
function otherTasks(): Promise<void> {
  const { scheduler } = globalThis as { scheduler?: { yield?(): Promise<void> } };
  if (scheduler?.yield !== undefined) return scheduler.yield();
  return new Promise((resolve) => setTimeout(resolve));
}
