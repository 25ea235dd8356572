/** BroadcastChannels: what one tab says is heard by all others in the order said; what two say at once, in one order or the other. */
import { SimulatedEvent, SimulatedTarget } from './events';
import type { Tab } from './tab';

/** All channels that are open, of all tabs. */
export class ChannelHub {
  readonly open = new Set<SimulatedChannel>();

  end(tab: Tab): void {
    for (const channel of this.open) if (channel.tab === tab) this.open.delete(channel);
  }
}

export class SimulatedChannel extends SimulatedTarget {
  readonly tab: Tab;
  readonly name: string;
  #isClosed = false;
  #isDead = false;

  constructor(tab: Tab, name: string) {
    super();
    this.tab = tab;
    this.name = name;
    const { channels } = tab.browser;
    tab.toChannels.send(() => channels.open.add(this));
  }

  /** Also to others of its own tab, and not to itself. */
  postMessage(message: unknown): void {
    if (this.#isDead) return;
    if (this.#isClosed) throw new DOMException('The channel is closed', 'InvalidStateError');
    // As the engine finds out whether its channel lives: a symbol cannot be sent.
    if (typeof message === 'symbol') throw new DOMException('A symbol cannot be copied', 'DataCloneError');
    const copy = structuredClone(message);
    const { channels } = this.tab.browser;
    this.tab.toChannels.send(() => {
      if (!channels.open.has(this)) return;
      for (const other of channels.open) if (other !== this && other.name === this.name) other.#receive(copy);
    });
  }

  /** What was posted before is delivered still. */
  close(): void {
    this.#isClosed = true;
    const { channels } = this.tab.browser;
    this.tab.toChannels.send(() => channels.open.delete(this));
  }

  /** The browser ends it and says nothing: from now on nothing comes, nothing goes. */
  die(): void {
    this.#isDead = true;
    this.tab.browser.channels.open.delete(this);
  }

  #receive(message: unknown): void {
    this.tab.fromChannels.send(() => {
      if (!this.#isClosed) this.dispatch(new SimulatedEvent('message', { data: structuredClone(message) }));
    });
  }
}
