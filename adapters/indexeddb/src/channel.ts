/**
 * What contexts on one database say to each other, over a BroadcastChannel. All of it is a hint that may be lost; where there
 * is no BroadcastChannel, nothing is heard and nothing said.
 */

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
  readonly #channel: BroadcastChannel | undefined;
  #closed = false;

  constructor(name: string, listener?: (message: Message) => void) {
    this.#name = `settledb:${name}`;
    this.#listener = listener;
    this.#channel = this.#open();
    this.#channel?.addEventListener('message', this.#hear);
  }

  get works(): boolean {
    return this.#channel !== undefined;
  }

  post(message: Message): void {
    if (!this.#closed) this.#channel?.postMessage(message);
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
    this.#channel?.removeEventListener('message', this.#hear);
    this.#channel?.close();
  }

  readonly #hear = (event: MessageEvent<Message>): void => this.#listener?.(event.data);

  #open(): BroadcastChannel | undefined {
    try {
      return new BroadcastChannel(this.#name);
    } catch {
      return undefined; // none here, or a context of opaque origin
    }
  }
}
