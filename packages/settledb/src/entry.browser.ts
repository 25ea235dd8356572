/** The package in browsers and their workers. Importing it touches no storage. */
import { indexeddb } from '@settledb/adapter-indexeddb';
import { memoryByName } from './memory-by-name';
import type { AnyContent } from './options';
import { platform } from './platform';
import { SettleDB as Base } from './settledb';

export * from './public';

/** The base class, knowing the adapters `indexeddb` (the default) and `memory` by name. */
export class SettleDB<Content extends AnyContent = AnyContent> extends Base<Content> {
  /** Bundlers rename one of two classes of a name, and consoles print it. */
  static override readonly name: string = 'SettleDB';
  static override readonly platform = platform(
    { indexeddb: () => indexeddb(), memory: memoryByName },
    'indexeddb',
  );
}

export default SettleDB;
