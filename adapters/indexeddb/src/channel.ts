/**
 * What contexts on one database tell each other, over a BroadcastChannel. All of it is a hint that may be lost; without a
 * BroadcastChannel nothing is heard or said.
 */
import { living, openChannel, say } from '@settledb/core';

export type Message =
  /** The sender has come, and waits for the presence lock (presence.ts). */
  | { readonly type: 'hello' }
  /** The sender has gone, and released the lock. */
  | { readonly type: 'bye' }
  /** The sender holds the presence lock as the only one, since that date. */
  | { readonly type: 'solo'; readonly at: number }
  /** The sender holds it too: their locks are not the same. */
  | { readonly type: 'apart' }
  /** The sender has committed, or made a checkpoint; `rewrites`: it has put a slice of one, or dropped something. */
  | { readonly type: 'commit'; readonly by: string; readonly rewrites?: boolean }
  /** Hold back your writes until the sender (`to`) has committed, for at most `ms` (fairness.ts). */
  | { readonly type: 'yield'; readonly to: string; readonly ms: number }
  /** The sender is about to delete the database. */
  | { readonly type: 'destroy' }
  /** Only for the sender itself: everything said before it has been heard. */
  | { readonly type: 'echo'; readonly of: string; readonly at: number };

/** At most how often it looks whether its channel lives: reads and commits may come by the thousand in a second. */
const LOOK_MS = 100;

export class Channel {
  readonly #name: string;
  readonly #listener: ((message: Message) => void) | undefined;
  #channel: BroadcastChannel | undefined;
  #lookedAt = 0;
  #asleep = false;
  #closed = false;

  constructor(name: string, listener?: (message: Message) => void) {
    this.#name = `settledb:${name}`;
    this.#listener = listener;
    this.#listen();
  }

  get works(): boolean {
    return this.#asleep || this.#channel !== undefined;
  }

  /**
   * Hears nothing until `wake`. For a page that is put away: a message to a page in the back/forward cache throws the page out
   * (Chromium), and a message to a frozen page waits until it is no longer frozen.
   */
  sleep(): void {
    if (this.#channel === undefined) return;
    this.#asleep = true;
    this.#end();
  }

  wake(): void {
    if (!this.#asleep || this.#closed) return;
    this.#asleep = false;
    this.#listen();
  }

  post(message: Message): void {
    if (this.#asleep) this.postToAll(message);
    else {
      this.heal();
      say(this.#channel, message);
    }
  }

  /**
   * Makes another channel if the browser has ended this one. To be called by who reads what others may have written: a context that says
   * nothing would never notice.
   */
  heal(): void {
    const now = performance.now();
    if (this.#channel === undefined || now - this.#lookedAt < LOOK_MS) return;
    this.#lookedAt = now;
    const channel = living(this.#channel, this.#hear);
    if (channel === this.#channel) return;
    this.#channel = channel;
    // What was said meanwhile is not known: somebody may have come, or committed.
    this.#listener?.({ type: 'hello' });
    this.#listener?.({ type: 'commit', by: '' });
  }

  /** As `post`, but this channel's own listener hears it too, after all that was said before. */
  postToAll(message: Message): void {
    if (this.#closed) return;
    // A channel does not hear itself; a second one, if kept open, would hear everything, at a cost.
    const other = openChannel(this.#name);
    say(other, message);
    other?.close();
  }

  close(): void {
    this.#closed = true;
    this.#end();
  }

  #listen(): void {
    this.#channel = openChannel(this.#name, this.#hear);
  }

  #end(): void {
    this.#channel?.removeEventListener('message', this.#hear);
    this.#channel?.close();
    this.#channel = undefined;
  }

  readonly #hear = (event: MessageEvent<Message>): void => this.#listener?.(event.data);
}
