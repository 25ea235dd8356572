/**
 * Requests that a client sends on one connection without waiting for their answers: each begins when the one before was answered, because
 * the client may rely on their order (RFC 9112, 9.3.2). Node begins all of them at once, and reads on however many there are.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Requests of one connection that may wait; from then on it is not read until one begins. More are parsed only if they came in the same
 * piece of 64 KB: some 2,000 of the smallest. Each takes 2 KB while it waits.
 */
const MAX_WAITING = 16;

export class Pipelines {
  readonly #waiting = new WeakMap<Socket, number>();

  /** How many requests of the connection wait. */
  #of(socket: Socket): number {
    return this.#waiting.get(socket) ?? 0;
  }

  /** Calls `begin` when `before`, the answer before this one on the same connection, is over; never if the client hung up. */
  beginAfter(before: ServerResponse, socket: Socket, begin: () => void): void {
    // Node reads on when an answer ends or a body is read, whoever paused.
    if (!this.#waiting.has(socket)) socket.on('resume', () => this.#hold(socket));
    this.#waiting.set(socket, this.#of(socket) + 1);
    this.#hold(socket);
    before.once('close', () => {
      // Node closes only the answer that has the socket: those behind it would never learn that their client hung up.
      if (socket.destroyed) return;
      this.#waiting.set(socket, this.#of(socket) - 1);
      if (this.#of(socket) === MAX_WAITING - 1) socket.resume();
      begin();
    });
  }

  #hold(socket: Socket): void {
    if (this.#of(socket) >= MAX_WAITING) socket.pause();
  }
}
