/** What all tabs of an origin share. */
import { ChannelHub } from './channels';
import { LockHub } from './locks';
import { type Engine, Storage } from './storage';
import { Tab } from './tab';
import type { World } from './world';

/** What old browsers do not have, or a page that did not come by https. */
export type Lacking = 'locks' | 'channels';

export class Browser {
  readonly world: World;
  readonly storage: Storage;
  readonly locks = new LockHub();
  readonly channels = new ChannelHub();
  readonly tabs: Tab[] = [];
  readonly lacks: Lacking | undefined;

  constructor(world: World, engine: Engine = 'chromium', lacks?: Lacking) {
    this.world = world;
    this.lacks = lacks;
    this.storage = new Storage(world, engine);
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
