/**
 * What contexts on one database tell each other, over a BroadcastChannel. All of it is a hint that may be lost; without a
 * BroadcastChannel nothing is heard or said.
 */
import { unref } from '@settledb/core';

export type Message =
  /** The sender has come, and waits for the presence lock (presence.ts). */
  | { readonly type: 'hello' }
  /** The sender has gone, and released the lock. */
  | { readonly type: 'bye' }
  /** The sender holds the presence lock as the only one, since that date. */
  | { readonly type: 'solo'; readonly at: number }
  /** The sender holds it too: their locks are not the same. */
  | { readonly type: 'apart' }
  /** The sender has committed, or rewritten. */
  | { readonly type: 'commit'; readonly by: string; readonly rewrites?: boolean }
  /** Hold back your writes until the sender (`to`) has committed, for at most `ms` (fairness.ts). */
  | { readonly type: 'yield'; readonly to: string; readonly ms: number }
  /** The sender is about to delete the database. */
  | { readonly type: 'destroy' }
  /** Only for the sender itself: everything said before it has been heard. */
  | { readonly type: 'echo'; readonly of: string; readonly at: number };

export class Channel {
  readonly #name: string;
  readonly #listener: ((message: Message) => void) | undefined;
  #channel: BroadcastChannel | undefined;
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
    else if (!this.#closed && !say(this.#channel, message)) {
      this.#end();
      this.#listen();
      say(this.#channel, message);
    }
  }

  /** As `post`, but this channel's own listener hears it too, after all that was said before. */
  postToAll(message: Message): void {
    if (this.#closed) return;
    const other = this.#open(); // a channel does not hear itself; a second one, if kept open, would hear everything, at a cost
    say(other, message);
    other?.close();
  }

  close(): void {
    this.#closed = true;
    this.#end();
  }

  #listen(): void {
    this.#channel = this.#open();
    this.#channel?.addEventListener('message', this.#hear);
  }

  #end(): void {
    this.#channel?.removeEventListener('message', this.#hear);
    this.#channel?.close();
    this.#channel = undefined;
  }

  readonly #hear = (event: MessageEvent<Message>): void => this.#listener?.(event.data);

  #open(): BroadcastChannel | undefined {
    try {
      return unref(new BroadcastChannel(this.#name));
    } catch {
      return undefined; // there is none, or the context has an opaque origin
    }
  }
}

/** @returns false if it is closed: by the browser, as Chromium does when what is behind the channel ends, and says nothing */
function say(channel: BroadcastChannel | undefined, message: Message): boolean {
  try {
    channel?.postMessage(message);
    return true;
  } catch {
    return false;
  }
}
