/**
 * The page as an app: it can be installed, opens without a server, and is replaced by a newer version when the person says so. All
 * that is the service worker's work; here it is shown, and told what to do.
 */
import { storage } from 'settledb';
import { attempt, byId, notice } from './dom';

/** Chromium's, before it would offer to install the page itself. */
interface InstallPrompt extends Event {
  prompt(): Promise<unknown>;
}
/** Background Sync: Chromium's only. */
interface SyncManager {
  register(tag: string): Promise<void>;
}

/** Between two looks for a newer version, while the page is looked at. Opening it looks too. */
const LOOK_MS = 60 * 60_000;

export class App {
  /** There may be a network again. */
  onNetwork: () => void = () => {};
  readonly #hasDrafts: () => boolean;
  #registration: ServiceWorkerRegistration | undefined;
  /** The person asked for it here. */
  #updating = false;
  #lookedAt = Date.now();

  /** @param hasDrafts is there anything that a reload would lose? */
  constructor(hasDrafts: () => boolean) {
    this.#hasDrafts = hasDrafts;
    this.#offerInstalling();
    // Opened by an address that is not this machine's, without https, there are no service workers: then it is a page, no more.
    if ('serviceWorker' in navigator) void attempt(() => this.#register());
    addEventListener('online', () => this.onNetwork());
    document.addEventListener('visibilitychange', () => {
      if (document.visibilityState === 'visible') this.#lookedAtAgain();
    });
  }

  /**
   * Asks the browser to wake the service worker when there is a network, also when the page is closed by then. Where there is no
   * Background Sync, the page's own sync does it, as soon as the page is open and online.
   */
  settleLater(database: string): void {
    const { sync } = (this.#registration ?? {}) as { sync?: SyncManager };
    // Refused where the person forbade it: then the page does it as well.
    sync?.register(`settle ${database}`).catch(() => {});
  }

  async #register(): Promise<void> {
    const workers = navigator.serviceWorker;
    const isFirst = workers.controller === null;
    workers.addEventListener('controllerchange', () => {
      if (!isFirst || this.#updating) this.#replaced();
    });
    workers.addEventListener('message', ({ data }) => {
      if (data === 'network') this.onNetwork();
    });
    if (workers.controller !== null) byId('app-state').textContent = 'works offline';
    workers.controller?.postMessage('opened');
    byId('update').addEventListener('click', () => this.#update());
    const registration = await workers.register('/service-worker.js', { updateViaCache: 'none' });
    this.#registration = registration;
    this.#watch(registration);
    registration.addEventListener('updatefound', () => this.#watch(registration));
  }

  /** Shows what the newest service worker has come to. */
  #watch(registration: ServiceWorkerRegistration): void {
    const { installing, waiting, active } = registration;
    const show = (): void => {
      byId('update').hidden = registration.waiting === null || registration.active === null;
      byId('app-state').textContent = registration.active === null ? '' : 'works offline';
    };
    for (const worker of [installing, waiting, active]) worker?.addEventListener('statechange', show);
    show();
  }

  #update(): void {
    this.#updating = true;
    this.#registration?.waiting?.postMessage('activate');
  }

  /** A newer version is in use, here or in another tab. This page goes on with its own files until it is reloaded. */
  #replaced(): void {
    const reload = (): void => location.reload();
    if (!this.#hasDrafts()) reload();
    else
      notice('There is a newer version. Save what you typed, then reload.', { label: 'Reload', run: reload });
  }

  #lookedAtAgain(): void {
    this.onNetwork();
    if (Date.now() - this.#lookedAt < LOOK_MS) return;
    this.#lookedAt = Date.now();
    // Without a server there is nothing newer.
    this.#registration?.update().catch(() => {});
  }

  #offerInstalling(): void {
    const button = byId<HTMLButtonElement>('install');
    let offer: InstallPrompt | undefined;
    addEventListener('beforeinstallprompt', (event) => {
      event.preventDefault();
      offer = event as InstallPrompt;
      button.hidden = false;
    });
    addEventListener('appinstalled', () => {
      button.hidden = true;
    });
    button.addEventListener('click', () => {
      button.hidden = true;
      void attempt(async () => {
        await offer?.prompt();
        // Who installs it means to keep it.
        await storage.persist();
      });
    });
  }
}
