/** The switch "offline" and the sync behind it: live, retried by itself, cut when the switch is on. */
import type { SettleDB } from 'settledb';
import { byId } from './dom';
import type { Place } from './place';

type Sync = ReturnType<SettleDB<Place>['sync']>;

/** Where the switch of this window is remembered. */
const SWITCH = 'atlas: offline';

export class Network {
  readonly #db: SettleDB<Place>;
  readonly #remote: string;
  #sync: Sync | undefined;
  #moved = { push: 0, pull: 0 };

  constructor(db: SettleDB<Place>, remote: string) {
    this.#db = db;
    this.#remote = remote;
    const offline = byId<HTMLInputElement>('offline');
    offline.checked = sessionStorage.getItem(SWITCH) === 'on';
    const obey = (): void => (offline.checked ? this.#cut() : this.#connect());
    offline.addEventListener('change', () => {
      sessionStorage.setItem(SWITCH, offline.checked ? 'on' : 'off');
      obey();
    });
    obey();
  }

  #connect(): void {
    this.#say('syncing', 'syncing…');
    const sync = this.#db.sync(this.#remote, { live: true, retry: true });
    this.#sync = sync;
    sync.on(
      'change',
      ({ direction, change }: { direction: 'push' | 'pull'; change: { docs: unknown[] } }) => {
        this.#moved[direction] += change.docs.length;
        this.#say('syncing', 'syncing…');
      },
    );
    sync.on('active', () => this.#say('syncing', 'syncing…'));
    sync.on('paused', (error?: Error) => {
      if (error) this.#say('waiting', `${error.message} Trying again`);
      else this.#say('settled', 'settled');
    });
    sync.on('denied', () => this.#say('waiting', 'the server refused a document'));
    sync.on('error', (error: Error) => this.#say('waiting', `sync ended: ${error.message}`));
    sync.catch(() => undefined); // Said by the event above.
  }

  #cut(): void {
    this.#sync?.cancel();
    this.#sync = undefined;
    this.#say('offline', 'offline, saved here');
  }

  #say(state: string, text: string): void {
    const badge = byId('sync');
    badge.dataset.state = state;
    badge.textContent = `${text} · ${this.#moved.push.toLocaleString('en')} sent, ${this.#moved.pull.toLocaleString('en')} received`;
  }
}
