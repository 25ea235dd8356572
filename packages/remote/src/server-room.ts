/**
 * Memory for the bodies of requests. One of 32 MiB becomes some 300 MB of objects and more, so that thirty at a time,
 * of one client, ended a server: only a few are worked on at a time, others wait for their turn as bytes, and of those there is an end too.
 */
import { type DatabaseError, onAbort } from '@settledb/core';
import { unavailable } from './server-answer';
import { MAX_PARTS } from './server-json';
import { type ServerRequest, SMALL_BODY } from './server-request';

/** Worked on at a time: as many bytes as so many of the largest requests have, so that one need not wait for a smaller one that takes long. */
const AT_A_TIME = 2;
/** Held at a time: those that arrive, those that wait, and those whose answers are being read among them. */
const AT_ALL = 8;
/** Bytes that may have as many parts as the largest body (`{},` is one), and then become as much: a million documents in 3 MB took 0.6 GB. */
const DENSE = 3 * MAX_PARTS;
/** ms that a request waits for its turn: about as long as clients wait for an answer. */
const TURN_MS = 60_000;

interface Held {
  /** As it came; from its turn on, as many as the largest has of what this may become. */
  bytes: number;
  /** Has its turn. */
  isIn: boolean;
  /** Gives it its turn, for which it waits. */
  enter?: (() => void) | undefined;
  refuse?: (error: DatabaseError) => void;
}

export class BodyRoom {
  readonly #largest: number;
  readonly #most: number;
  readonly #mostHeld: number;
  /** By request, in the order in which they came. */
  readonly #held = new Map<ServerRequest, Held>();
  #bytes = 0;
  #bytesIn = 0;

  /** @param largest bytes of the largest request */
  constructor(largest: number) {
    this.#largest = largest;
    this.#most = AT_A_TIME * largest;
    this.#mostHeld = AT_ALL * largest;
  }

  /** The pieces, counted until {@link done} with others of that request. @throws service_unavailable, but never for a small body, which may come without its length */
  async *counted(
    request: ServerRequest,
    pieces: AsyncIterable<Uint8Array>,
  ): AsyncGenerator<Uint8Array, void, void> {
    const held: Held = this.#held.get(request) ?? { bytes: 0, isIn: false };
    this.#held.set(request, held);
    for await (const piece of pieces) {
      this.#count(held, held.bytes + piece.byteLength);
      if (held.bytes > SMALL_BODY && this.#bytes > this.#mostHeld) throw tooMuch();
      yield piece;
    }
  }

  /** Waits until what was counted may be worked on. @throws service_unavailable; the signal's reason */
  async turn(request: ServerRequest): Promise<void> {
    const held = this.#held.get(request);
    if (held === undefined || held.bytes <= SMALL_BODY) return;
    let stop = (): void => {};
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        timer = setTimeout(() => reject(tooMuch()), TURN_MS);
        stop = onAbort(request.signal, () => reject(request.signal.reason));
        held.enter = resolve;
        held.refuse = reject;
        this.#next();
      });
    } finally {
      clearTimeout(timer);
      stop();
    }
  }

  /** What is left of it may take long, as its client reads or sends piece by piece: others have its turn, but what its body became is held until it is {@link done}. */
  begun(request: ServerRequest): void {
    const held = this.#held.get(request);
    if (held?.isIn !== true) return;
    held.isIn = false;
    this.#bytesIn -= held.bytes;
    this.#next();
  }

  /** The request was answered. Idempotent. */
  done(request: ServerRequest): void {
    const held = this.#held.get(request);
    if (held === undefined) return;
    this.#held.delete(request);
    this.#bytes -= held.bytes;
    if (held.isIn) this.#bytesIn -= held.bytes;
    this.#next();
  }

  /** In their order: a large one must not wait for ever behind small ones. */
  #next(): void {
    for (const held of this.#held.values()) {
      if (held.enter === undefined) continue;
      const bytes = this.#parsed(held.bytes);
      if (this.#bytesIn + bytes > this.#most) return;
      const more = bytes - held.bytes;
      const isTooMuch = more > 0 && this.#bytes + more > this.#mostHeld;
      // It waits for those at work, but not for what is held by answers that perhaps nobody reads.
      if (isTooMuch && this.#bytesIn > 0) return;
      this.#count(held, isTooMuch ? 0 : bytes);
      const { enter } = held;
      held.enter = undefined;
      if (isTooMuch) {
        held.refuse?.(tooMuch());
        continue;
      }
      held.isIn = true;
      this.#bytesIn += bytes;
      enter();
    }
  }

  #count(held: Held, bytes: number): void {
    this.#bytes += bytes - held.bytes;
    held.bytes = bytes;
  }

  /** As how many bytes of the largest it counts when it is worked on. */
  #parsed(bytes: number): number {
    return Math.min(this.#largest, Math.ceil(bytes * Math.max(1, this.#largest / DENSE)));
  }
}

const tooMuch = (): DatabaseError => unavailable('Too many large requests at a time: try again later');
