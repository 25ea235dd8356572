/**
 * Memory for answers that were made and that nobody takes: a reader of one document of 8 MB could ask for it on a thousand connections,
 * and not read.
 */
import type { ServerResponse } from 'node:http';
import { unavailable } from './server-answer';
import { SMALL_BODY } from './server-request';

/** Held at a time, in the largest requests, as of bodies (server-room.ts). */
const AT_ALL = 8;

export class UnreadAnswers {
  readonly #most: number;
  readonly #open = new Set<ServerResponse>();

  /** @param largest bytes of the largest request: a document of it is a piece of an answer */
  constructor(largest: number) {
    this.#most = AT_ALL * largest;
  }

  add(answer: ServerResponse): void {
    this.#open.add(answer);
    answer.once('close', () => this.#open.delete(answer));
  }

  /**
   * Called before so many bytes are sent. By themselves they may be any number.
   *
   * @throws service_unavailable if they are many, and there is no room for them beside what waits for being read
   */
  readonly check = (bytes: number): void => {
    if (bytes <= SMALL_BODY) return;
    let held = 0;
    for (const { writableLength } of this.#open) held += writableLength;
    if (held > 0 && held + bytes > this.#most)
      throw unavailable('Too many large answers are not read: try again later');
  };
}
