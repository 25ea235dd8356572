/**
 * A BroadcastChannel that only a page and another tab's worker know. Chromium delivers none of its messages to a context that a debugger
 * stops (156), so they are numbered: after a gap, the other side hears of a message that cannot be read, before the one that came.
 */
import type { Endpoint } from './wire';

type Listener = (event: MessageEvent) => void;

export class LinkChannel implements Endpoint {
  readonly #channel: BroadcastChannel;
  readonly #events = new EventTarget();
  #posted = 0;
  #heard = 0;

  constructor(name: string) {
    this.#channel = new BroadcastChannel(name);
    const lost = (): void => void this.#events.dispatchEvent(new MessageEvent('messageerror'));
    this.#channel.addEventListener('messageerror', lost);
    this.#channel.addEventListener('message', (event: MessageEvent<[number: number, message: unknown]>) => {
      const [number, data] = event.data;
      const isNext = number === this.#heard + 1;
      this.#heard = number;
      if (!isNext) lost();
      this.#events.dispatchEvent(new MessageEvent('message', { data }));
    });
  }

  postMessage(message: unknown): void {
    this.#channel.postMessage([this.#posted + 1, message]);
    this.#posted++; // not if it cannot be cloned
  }

  addEventListener(type: string, listener: Listener): void {
    this.#events.addEventListener(type, listener as EventListener);
  }

  removeEventListener(type: string, listener: Listener): void {
    this.#events.removeEventListener(type, listener as EventListener);
  }

  close(): void {
    this.#channel.close();
  }
}
