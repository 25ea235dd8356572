/** What a program finds in a tab, or in a worker of it, in place of the real globals. */
import { SimulatedChannel } from './channels';
import { SimulatedEvent, type SimulatedTarget } from './events';
import { SimulatedFactory } from './factory';
import {
  SimulatedDatabase,
  SimulatedOpenRequest,
  SimulatedRequest,
  SimulatedStore,
  SimulatedTransaction,
} from './indexeddb';
import { KeyRange } from './keys';
import { SimulatedLocks } from './locks';
import { SimulatedMessageChannel } from './ports';
import type { Tab } from './tab';

/** By name, for `Program.run`. */
export type Globals = Readonly<Record<string, unknown>>;

/** Names in `navigator.userAgent`, by which the engine tells them apart. */
const USER_AGENTS = { chromium: 'Chrome', firefox: 'Firefox', webkit: 'AppleWebKit' };

/** None is made by anybody. */
class SimulatedCursor {
  advance(): void {}
  continue(): void {}
  continuePrimaryKey(): void {}
}
class SimulatedIndex {}
class WorkerScope {}

/** @param page hears events of the window, or of the worker's scope */
export function makeGlobals(tab: Tab, page: SimulatedTarget, document: SimulatedTarget): Globals {
  const {
    storage,
    kind: { lacks, isOfWorkers = false },
  } = tab.browser;
  const estimate = async () => ({ usage: storage.used, quota: Math.min(storage.limit, 1e12) });
  return {
    ...tab.clock.globals,
    ...(isOfWorkers ? { WorkerGlobalScope: WorkerScope } : { document }),
    addEventListener: page.addEventListener.bind(page),
    removeEventListener: page.removeEventListener.bind(page),
    dispatchEvent: () => true,
    navigator: {
      userAgent: USER_AGENTS[storage.engine],
      locks: lacks === 'locks' ? undefined : new SimulatedLocks(tab),
      storage: { estimate },
    },
    BroadcastChannel: class extends SimulatedChannel {
      constructor(name: string) {
        if (lacks === 'channels') throw new DOMException('There are no channels', 'NotSupportedError');
        super(tab, name);
      }
    },
    MessageChannel: class extends SimulatedMessageChannel {
      constructor() {
        super(tab);
      }
    },
    indexedDB: new SimulatedFactory(tab),
    IDBKeyRange: KeyRange,
    IDBDatabase: SimulatedDatabase,
    IDBTransaction: SimulatedTransaction,
    IDBObjectStore: SimulatedStore,
    IDBRequest: SimulatedRequest,
    IDBOpenDBRequest: SimulatedOpenRequest,
    IDBCursor: SimulatedCursor,
    IDBIndex: SimulatedIndex,
  };
}

/** @param tell posts to the page */
export function makeWorkerGlobals(
  tab: Tab,
  scope: SimulatedTarget,
  tell: (message: unknown) => void,
): Globals {
  const { document: _, ...globals } = makeGlobals(tab, scope, scope);
  return {
    ...globals,
    WorkerGlobalScope: WorkerScope,
    postMessage: tell,
    close: () => tab.browser.world.at(0, () => tab.kill()),
    dispatchEvent: ({ type, persisted }: { type: string; persisted?: boolean }) => {
      const event = new SimulatedEvent(type, { persisted });
      scope.dispatch(event);
      return !event.defaultPrevented;
    },
  };
}
