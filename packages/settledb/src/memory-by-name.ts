/** The adapter for `adapter: 'memory'` in browsers, where few programs need it: its code is loaded with the first database opened. */
import type { Adapter } from '@settledb/engine';
import { memoryCode } from './code';

export function memoryByName(): Adapter {
  let made: Adapter | undefined;
  const world = async (): Promise<Adapter> => {
    const { memory } = await memoryCode.load();
    made ??= memory();
    return made;
  };
  return {
    name: 'memory',
    location: (name) => `memory:${name}`,
    open: async (name, options) => (await world()).open(name, options),
    destroy: async (name, options) => (await world()).destroy(name, options),
  };
}
