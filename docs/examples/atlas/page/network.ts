/**
 * The switch "offline" and the sync behind it: live, retried by itself, cut when the switch is on. The badge says what it does,
 * how much it has carried either way, and how much is to come.
 */
import type { SettleDB, SyncStatus } from 'settledb';
import { byId } from './dom';
import type { Place } from './place';

type Sync = ReturnType<SettleDB<Place>['sync']>;

/** Where the switch of this window is remembered. */
const SWITCH = 'atlas: offline';

export class Network {
  /** The server cannot be reached: what is written now is sent later. */
  onUnsent: () => void = () => {};
  readonly #db: SettleDB<Place>;
  readonly #remote: string;
  #sync: Sync | undefined;
  /** Of syncs that the switch has ended. */
  readonly #before = { push: { docs: 0, bytes: 0 }, pull: { docs: 0, bytes: 0 } };

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
    const sync = this.#db.sync(this.#remote, { live: true, retry: true });
    this.#sync = sync;
    sync.catch(() => undefined); // Said by the last status.
    void this.#follow(sync);
  }

  async #follow(sync: Sync): Promise<void> {
    for await (const status of sync.statuses()) {
      if (this.#sync !== sync) return;
      const [state, text] = describe(status);
      this.#show(state, text, status);
      if (state === 'offline') this.onUnsent();
    }
  }

  /** There may be a network now: a sync that waits to try again need not wait longer. */
  again(): void {
    if (this.#sync === undefined || byId('sync').dataset.state === 'settled') return;
    this.#cut();
    this.#connect();
  }

  #cut(): void {
    const status = this.#sync?.status();
    this.#sync?.cancel();
    this.#sync = undefined;
    for (const way of WAYS) {
      this.#before[way].docs += status?.[way].docs_written ?? 0;
      this.#before[way].bytes += status?.[way].bytes_written ?? 0;
    }
    this.#show('offline', 'offline, saved here');
  }

  #show(state: string, text: string, status?: SyncStatus): void {
    byId('sync').dataset.state = state;
    // Only what has changed: a screen reader tells every change of the words.
    const say = (id: string, words: string): void => {
      const place = byId(id);
      if (place.textContent !== words) place.textContent = words;
    };
    say('sync-state', text);
    for (const way of WAYS) say(`sync-${way}`, this.#moved(way, status?.[way]));
  }

  /** Such as `12 sent, 4 kB, 3 to go`. */
  #moved(way: (typeof WAYS)[number], status: SyncStatus['push'] | undefined): string {
    const { docs, bytes } = this.#before[way];
    const moved = (docs + (status?.docs_written ?? 0)).toLocaleString('en');
    const size = sizeOf(bytes + (status?.bytes_written ?? 0));
    const pending = status?.pending ? `, ${status.pending.toLocaleString('en')} to go` : '';
    return `${moved} ${way === 'push' ? 'sent' : 'received'}, ${size}${pending}`;
  }
}

const WAYS = ['push', 'pull'] as const;

/** What both halves do, as one state of the badge and its words. */
function describe({ push, pull }: SyncStatus): [state: string, text: string] {
  const phases = [push.phase, pull.phase];
  const error = push.error ?? pull.error;
  const why = error instanceof Error ? error.message : '';
  if (phases.includes('failed')) return ['waiting', `sync ended: ${why}`];
  if (isUnreachable(error)) return ['offline', 'offline, saved here, sent later'];
  if (phases.includes('waiting')) return ['waiting', `${why || 'no answer'} · trying again`];
  if (push.doc_write_failures > 0) return ['waiting', `the server refused ${push.doc_write_failures}`];
  // Changes that were read and are not looked through yet may be what the other half has just sent.
  if (phases.every((phase) => phase === 'idle') && !push.pending && !pull.pending)
    return ['settled', 'settled'];
  return ['syncing', phases.includes('transferring') ? 'syncing…' : 'connecting…'];
}

/** Nobody answered, as opposed to somebody who refused. */
const isUnreachable = (error: unknown): boolean =>
  ['unreachable', 'timeout'].includes((error as { name?: string } | undefined)?.name ?? '');

/** Bytes as people read them. */
function sizeOf(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${Math.round(bytes / 1000)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
