/** What the class has besides its handles, both here and in a page whose databases are in a worker. */
import type { SettleOptions } from './options';
import { refuseCallback, refuseOther } from './verbs';

/** The version in package.json. */
export const VERSION = '0.1.0';

type HandleClass = new (first: never, second?: SettleOptions) => object;

/** `Base` with `defaults`, which the options of each handle override. */
export function withDefaults<Class>(Base: Class, defaults: SettleOptions): Class {
  refuseOther('SettleDB.defaults', defaults);
  const Derived = class extends (Base as HandleClass) {
    constructor(first: unknown, second?: SettleOptions, third?: unknown) {
      refuseCallback('SettleDB', third ?? second);
      refuseOther('SettleDB', second);
      const named = typeof first === 'object' && first !== null;
      super((named ? over(defaults, first) : first) as never, over(defaults, second));
    }
  };
  return Derived as Class;
}

/** What is `undefined` was not given. A page names what its worker's class was given as an object. */
function over(defaults: SettleOptions | null, given?: SettleOptions | null): SettleOptions {
  const adapter = defaults?.adapter;
  const isNamed = typeof adapter === 'object' && adapter?.name === given?.adapter;
  const named = Object.entries(given ?? {}).filter(([, value]) => value !== undefined);
  return { ...defaults, ...Object.fromEntries(named), ...(isNamed ? { adapter } : {}) };
}
