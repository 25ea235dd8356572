/** Where the programs of a trial have their database: in their page, or in a worker of it, of which one serves all tabs. */
import type { indexeddb } from '@settledb/adapter-indexeddb';
import type { SettleDB } from '../../packages/settledb/src/entry.browser';
import type { connect, host } from '../../packages/settledb/src/worker';
import { Program } from './platform/program';
import type { Tab } from './platform/tab';
import { SimulatedWorker } from './platform/worker';

/** Opens a handle. */
export type Home = (name?: string) => SettleDB;

interface Exports {
  readonly SettleDB: typeof SettleDB;
  readonly indexeddb: typeof indexeddb;
  readonly connect: typeof connect;
  readonly host: typeof host;
}
const CONTENTS = `
  export { indexeddb } from './adapters/indexeddb/src/index';
  export { SettleDB } from './packages/settledb/src/entry.browser';
  export { connect, host } from './packages/settledb/src/worker';
`;

export const NAME = 'db';
/** What it is replicated to. */
export const COPY = 'copy';

/** Makes a home in each tab, by one program for all. */
export class Homes {
  readonly #program: Program<Exports>;

  private constructor(program: Program<Exports>) {
    this.#program = program;
  }

  static async of(tab: Tab): Promise<Homes> {
    return new Homes(await Program.of<Exports>(CONTENTS, tab));
  }

  inPage(tab: Tab): Home {
    const SettleDB = classOf(this.#program.run(tab));
    return (name = NAME) => new SettleDB(name, { auto_compaction: tab.browser.world.random.chance(0.3) });
  }

  inWorker(tab: Tab): Home {
    const begin = (inside: Tab): void => {
      const program = this.#program.run(inside);
      program.host({ SettleDB: classOf(program) });
    };
    const { connect } = this.#program.run(tab);
    const Connected = connect(() => new SimulatedWorker(tab, begin) as unknown as Worker);
    return (name = NAME) => new Connected(name);
  }
}

function classOf({ SettleDB, indexeddb }: Exports): typeof SettleDB {
  return SettleDB.defaults({
    adapter: indexeddb(),
    views: { byK: { map: (doc, emit) => emit(doc.k as number, doc.n as number) } },
  }) as typeof SettleDB;
}
