/** Contexts of one database whose locks and messages are in the test's hands: what a browser decides, a test here decides. */
import { onTestFinished, vi } from 'vitest';
import { Channel, type Message } from '../../adapters/indexeddb/src/channel';
import { Presence } from '../../adapters/indexeddb/src/presence';

interface Request {
  readonly mode: LockMode;
  readonly name: string;
  readonly grant: () => void;
  readonly lose: (cause: unknown) => void;
}

/** A lock manager as the Web Locks specification says it is, for one origin. */
export class Locks {
  readonly held: Request[] = [];
  readonly pending: Request[] = [];
  asked = 0;
  queries = 0;
  thefts = 0;
  /** It gives no lock, nor says that it does not, to who is ready to wait. */
  isMute = false;
  /** It answers nothing for a while, not even that a lock is taken. */
  stopped: Promise<void> | undefined;
  /** How long it takes to answer. */
  lagMs = 0;

  readonly request = (name: string, options: LockOptions, work: LockGrantedCallback<unknown>) => {
    if (this.stopped !== undefined) return this.stopped.then(() => this.#request(name, options, work));
    return this.#request(name, options, work);
  };

  #request(name: string, options: LockOptions, work: LockGrantedCallback<unknown>): Promise<unknown> {
    this.asked++;
    if (options.steal) this.thefts++;
    return new Promise<unknown>((resolve, reject) => {
      const { mode = 'exclusive', signal } = options;
      const request: Request = {
        name,
        mode,
        lose: reject,
        grant: () => {
          this.held.push(request);
          this.#later(async () => {
            await work({ name, mode });
            remove(this.held, request);
            this.#serve();
            resolve(undefined);
          });
        },
      };
      signal?.addEventListener('abort', () => {
        remove(this.pending, request);
        reject(signal.reason);
        this.#serve();
      });
      if (options.ifAvailable) {
        if (this.pending.length === 0 && this.#isFree(mode)) request.grant();
        else this.#later(async () => resolve(await work(null)));
      } else if (this.isMute) this.pending.push(request);
      else if (options.steal) {
        const stolen = new DOMException('The lock was taken', 'AbortError');
        for (const { lose } of this.held.splice(0)) lose(stolen);
        request.grant();
      } else {
        this.pending.push(request);
        this.#serve();
      }
    });
  }

  readonly query = async (): Promise<LockManagerSnapshot> => {
    this.queries++;
    return { held: [...this.held], pending: [...this.pending] };
  };

  #later(work: () => Promise<void>): void {
    if (this.lagMs === 0) queueMicrotask(work);
    else setTimeout(work, this.lagMs);
  }

  #isFree(mode: LockMode): boolean {
    return this.held.length === 0 || (mode === 'shared' && this.held.every((each) => each.mode === 'shared'));
  }

  #serve(): void {
    while (this.pending.length > 0 && this.#isFree(this.pending[0]!.mode)) this.pending.shift()!.grant();
  }
}

function remove(list: Request[], request: Request): void {
  const at = list.indexOf(request);
  if (at >= 0) list.splice(at, 1);
}

/** What is said on the channels of all contexts. */
class Air {
  readonly said: Message[] = [];
  readonly open = new Set<EventTarget>();

  /** A BroadcastChannel of one name, in this test. */
  readonly Channel = ((air: Air) =>
    class extends EventTarget {
      constructor() {
        super();
        air.open.add(this);
      }
      postMessage(data: Message): void {
        if (typeof data === 'symbol') throw new DOMException('It cannot be cloned.', 'DataCloneError');
        air.said.push(data);
        for (const each of air.open)
          if (each !== this) queueMicrotask(() => each.dispatchEvent(new MessageEvent('message', { data })));
      }
      close(): void {
        air.open.delete(this);
      }
    })(this);
}

/** What the storage of the database has, and the clock. */
export class World {
  readonly locks = new Locks();
  readonly air = new Air();
  readonly page = new EventTarget();
  fence = 0;
  #now = 5000;

  constructor() {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
    vi.spyOn(performance, 'now').mockImplementation(() => this.#now);
    vi.spyOn(Date, 'now').mockImplementation(() => 1_700_000_000_000 + this.#now);
    vi.stubGlobal('BroadcastChannel', this.air.Channel);
    vi.stubGlobal('addEventListener', this.page.addEventListener.bind(this.page));
    vi.stubGlobal('removeEventListener', this.page.removeEventListener.bind(this.page));
    onTestFinished(() => {
      vi.useRealTimers();
      vi.restoreAllMocks();
      vi.unstubAllGlobals();
    });
  }

  /** Time passes; messages and timers come when they should. */
  async pass(ms: number): Promise<void> {
    for (const end = this.#now + ms; this.#now < end; ) {
      this.#now += 10;
      await vi.advanceTimersByTimeAsync(10);
    }
  }

  /** Everything that needs no time is over. */
  async settle(): Promise<void> {
    await vi.advanceTimersByTimeAsync(0);
  }

  /** Time passes, and nobody in this thread hears of anything. */
  standStill(ms: number): void {
    this.#now += ms;
  }

  /** The page is put away, comes back, or ends. */
  turnPage(type: 'pagehide' | 'pageshow', persisted: boolean): void {
    this.page.dispatchEvent(Object.assign(new Event(type), { persisted }));
  }
}

export class Context {
  readonly presence: Presence;
  missed = 0;
  /** It hears nothing that others say: it is blocked. */
  isDeaf = false;
  onMissed = (): void => {};
  readFence: () => Promise<number>;
  raiseFence: () => Promise<number>;

  constructor(world: World, locks: Locks | null = world.locks) {
    this.readFence = async () => world.fence;
    this.raiseFence = async () => ++world.fence;
    const channel = new Channel('db', (message) => {
      if (!this.isDeaf || message.type === 'echo') this.presence.hear(message);
    });
    this.presence = new Presence({
      name: 'db',
      locks: (locks ?? undefined) as LockManager | undefined,
      channel,
      readFence: () => this.readFence(),
      raiseFence: () => this.raiseFence(),
      missed: () => {
        this.missed++;
        this.onMissed();
      },
    });
    onTestFinished(() => this.presence.close());
  }

  /** Alone by a read that begins now. */
  readsAlone(): boolean {
    this.presence.saw(this.presence.term);
    return this.presence.alone();
  }

  /** One that is alone. */
  static async alone(world: World): Promise<Context> {
    const context = new Context(world);
    context.presence.greet();
    await world.settle();
    context.readsAlone();
    return context;
  }

  /** Writes, and has written when the promise resolves. */
  async write(): Promise<void> {
    await this.presence.enter();
    this.presence.leave();
  }
}
