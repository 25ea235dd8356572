/** A dedicated worker: a context of its own, which stands still with its page and ends with it, or by itself. */
import { SimulatedEvent, SimulatedTarget } from './events';
import { Parcel } from './ports';
import type { Tab } from './tab';

/** What the page has of it. */
export class SimulatedWorker extends SimulatedTarget {
  /** Where its program runs. */
  readonly inside: Tab;
  readonly #toInside;
  readonly #toPage;

  /** @param script its program, run in a task of its own; if it throws, the page hears it */
  constructor(page: Tab, script: (inside: Tab) => void) {
    super();
    this.inside = page.beginWorker((message) => this.#hear(message));
    this.#toInside = this.inside.makePipe();
    this.#toPage = page.makePipe();
    this.#toInside.send(() => script(this.inside));
  }

  postMessage(message: unknown, transfer: readonly unknown[] = []): void {
    const parcel = new Parcel(message, transfer);
    this.#toInside.send(() => this.inside.hear(parcel.openIn(this.inside)));
  }

  terminate(): void {
    this.inside.kill();
  }

  #hear(message: unknown): void {
    const data = structuredClone(message);
    this.#toPage.send(() => this.dispatch(new SimulatedEvent('message', { data })));
  }
}
