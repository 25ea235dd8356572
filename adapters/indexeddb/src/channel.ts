/**
 * What contexts on one database say to each other, over a BroadcastChannel. All of it is a hint that may be lost; where there
 * is no BroadcastChannel, nothing is heard and nothing said.
 */
import { unref } from './unref';

export type Message =
  /** I come, and wait for the presence lock (presence.ts). */
  | { readonly type: 'hello' }
  /** I have gone, and let go of it. */
  | { readonly type: 'bye' }
  /** I committed, or rewrote. */
  | { readonly type: 'commit'; readonly by: string }
  /** Hold back your writes until I (`to`) have committed, for `ms` at most (fairness.ts). */
  | { readonly type: 'yield'; readonly to: string; readonly ms: number }
  /** I am about to delete the database. */
  | { readonly type: 'destroy' }
  /** For the sender alone: everything said before it has been heard. */
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
   * Hears nothing until `wake`. For a page that is put away: what is said to one in the back/forward cache throws it out
   * (Chromium), and to one that is frozen waits there until it is not.
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
    else if (!this.#closed) this.#channel?.postMessage(message);
  }

  /** As `post`, heard by this channel's own listener too, after all that was said before. */
  postToAll(message: Message): void {
    if (this.#closed) return;
    const other = this.#open(); // a channel does not hear itself; a second one kept open would hear all, at a cost
    other?.postMessage(message);
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
      return undefined; // none here, or a context of opaque origin
    }
  }
}
