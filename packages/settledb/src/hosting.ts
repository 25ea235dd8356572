/** What a host needs to know of the class whose databases it serves. */
import type { HostContext } from '@settledb/worker';
import { SettleDB } from './settledb';

export function contextOf(Class: typeof SettleDB): Omit<HostContext, 'dedicated'> {
  const [own, given] = [SettleDB.prototype, Class.prototype] as unknown as [object, Record<string, unknown>];
  return {
    open: (name, options) => new Class(name, options),
    own: Object.entries(Object.getOwnPropertyDescriptors(own)).every(
      ([name, { value }]) => name === 'constructor' || value === undefined || given[name] === value,
    ),
  };
}
