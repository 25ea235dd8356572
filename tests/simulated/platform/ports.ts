/**
 * Ports between a page and its worker. A port may be sent on, with what waits in it: whoever gets it has another object for the same end.
 * Streams cannot be sent, as in Safari.
 */
import { SimulatedEvent, SimulatedTarget } from './events';
import type { Pipe } from './pipe';
import type { Tab } from './tab';

/** One of two ends, whichever context has it. */
class End {
  other!: End;
  readonly inbox: Parcel[] = [];
  port: MessagePort | undefined;
  isClosed = false;

  take(parcel: Parcel): void {
    if (this.isClosed) return;
    this.inbox.push(parcel);
    this.port?.arrive();
  }
}

/** By this name, which comlink looks for. */
export class MessagePort extends SimulatedTarget {
  readonly #tab: Tab;
  readonly #end: End;
  readonly #pipe: Pipe;
  #isStarted = false;

  constructor(tab: Tab, end: End) {
    super();
    this.#tab = tab;
    this.#end = end;
    this.#pipe = tab.makePipe();
    end.port = this;
  }

  postMessage(message: unknown, transfer: readonly unknown[] = []): void {
    if (!this.#isGone) this.#end.other.take(new Parcel(message, transfer));
  }

  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    for (const _ of this.#end.inbox) this.arrive();
  }

  close(): void {
    if (this.#isGone) return;
    this.#end.isClosed = true;
    this.#end.inbox.length = 0;
    this.#tab.dropPipe(this.#pipe);
  }

  /** Something has been sent here. */
  arrive(): void {
    if (this.#isStarted) this.#pipe.send(() => this.#next());
  }

  /** It is sent on. */
  detach(): End {
    if (this.#isGone) throw new DOMException('The port was sent before', 'DataCloneError');
    this.#end.port = undefined;
    this.#tab.dropPipe(this.#pipe);
    return this.#end;
  }

  get #isGone(): boolean {
    return this.#end.isClosed || this.#end.port !== this;
  }

  #next(): void {
    const parcel = this.#isGone ? undefined : this.#end.inbox.shift();
    if (parcel !== undefined)
      this.dispatch(new SimulatedEvent('message', { data: parcel.openIn(this.#tab), origin: '' }));
  }
}

/** What is sent, as it was then. */
export class Parcel {
  readonly #message: unknown;
  readonly #ends: readonly End[];

  constructor(message: unknown, transfer: readonly unknown[]) {
    const ports = transfer.filter((each) => each instanceof MessagePort);
    if (transfer.some((each) => each instanceof ReadableStream))
      throw new DOMException('Streams are not sent', 'DataCloneError');
    const buffers = transfer.filter((each) => each instanceof ArrayBuffer);
    const bare = replaced(message, (each) => {
      const at = ports.indexOf(each as MessagePort);
      return at < 0 ? undefined : { port: at };
    });
    this.#message = structuredClone(bare, { transfer: buffers });
    this.#ends = ports.map((port) => port.detach());
  }

  openIn(tab: Tab): unknown {
    if (this.#ends.length === 0) return this.#message;
    const ports = this.#ends.map((end) => new MessagePort(tab, end));
    return replaced(this.#message, (each) => {
      const { port } = each as { port?: unknown };
      return typeof port === 'number' ? ports[port] : undefined;
    });
  }
}

/** The same with others in place of some of the objects in it. */
function replaced(value: unknown, other: (value: object) => object | undefined): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const found = other(value);
  if (found !== undefined) return found;
  if (Array.isArray(value)) return value.map((each) => replaced(each, other));
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, replaced(each, other)]));
}

export class SimulatedMessageChannel {
  readonly port1: MessagePort;
  readonly port2: MessagePort;

  constructor(tab: Tab) {
    const [one, two] = [new End(), new End()];
    one.other = two;
    two.other = one;
    this.port1 = new MessagePort(tab, one);
    this.port2 = new MessagePort(tab, two);
  }
}
