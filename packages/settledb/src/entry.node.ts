/** The package in Node. Importing it touches no storage. */
import { file } from '@settledb/adapter-file';
import { memory } from '@settledb/adapter-memory';
import { nodeBytes } from './bytes.node';
import type { AnyContent } from './options';
import { platform } from './platform';
import { SettleDB as Base } from './settledb';

export * from './public';

/** The base class, knowing the adapters `file` (the default) and `memory` by name. */
export class SettleDB<Content extends AnyContent = AnyContent> extends Base<Content> {
  /** Bundlers rename one of two classes of a name, and consoles print it. */
  static override readonly name: string = 'SettleDB';
  static override readonly platform = platform(
    { file: () => file(), memory: () => memory() },
    'file',
    nodeBytes,
  );
}

export default SettleDB;
