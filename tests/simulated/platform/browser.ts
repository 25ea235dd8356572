/** What all tabs of an origin share. */
import { ChannelHub } from './channels';
import { LockHub } from './locks';
import { type Engine, Storage } from './storage';
import { Tab } from './tab';
import type { World } from './world';

export interface BrowserKind {
  /** Default `chromium`. */
  readonly engine?: Engine;
  /** What old browsers do not have, or a page that did not come by https. */
  readonly lacks?: 'locks' | 'channels';
  /** Programs run in dedicated workers of the tabs. */
  readonly isOfWorkers?: boolean;
}

export class Browser {
  readonly world: World;
  readonly storage: Storage;
  readonly locks = new LockHub();
  readonly channels = new ChannelHub();
  readonly tabs: Tab[] = [];
  readonly kind: BrowserKind;

  constructor(world: World, kind: BrowserKind = {}) {
    this.world = world;
    this.kind = kind;
    this.storage = new Storage(world, kind.engine ?? 'chromium');
  }

  open(): Tab {
    const tab = new Tab(this, `T${this.tabs.length + 1}`);
    this.tabs.push(tab);
    return tab;
  }

  get living(): Tab[] {
    return this.tabs.filter(({ isDead }) => !isDead);
  }
}
