/** What of a handle's options can cross to the worker. */
import { DatabaseError } from '@settledb/core';
import { withoutProxies } from '@settledb/worker';
import type { SettleOptions } from './options';

/** @throws TypeError for an adapter's object, or what makes one; bad_request `Invalid Adapter: <name>` */
export function chooseName(adapters: readonly string[] = ['indexeddb', 'memory'], adapter?: unknown): string {
  if (adapter == null) return adapters[0] ?? 'indexeddb';
  if (typeof adapter === 'object' || typeof adapter === 'function') {
    throw new TypeError(
      'An adapter cannot cross to the worker: give the host a class that knows it, and pass its name',
    );
  }
  if (typeof adapter === 'string' && adapters.includes(adapter)) return adapter;
  const reason = `The worker is said to have ${adapters.map((name) => `'${name}'`).join(', ')}: see the option \`adapters\` of connect`;
  throw new DatabaseError({
    status: 400,
    name: 'bad_request',
    message: `Invalid Adapter: ${adapter}`,
    reason,
  });
}

/** @throws TypeError for options that cannot be passed to a worker */
export function checkOptions({
  name: _,
  ...options
}: Omit<SettleOptions, 'adapter'> & { name?: unknown; adapter?: unknown }): object {
  for (const [key, value] of Object.entries(options)) {
    try {
      // Of a framework's proxies, what they stand for crosses.
      structuredClone(withoutProxies(value));
    } catch (cause) {
      throw new TypeError(
        `The option '${key}' cannot cross to the worker (functions do not): give it there, by host({ SettleDB: SettleDB.defaults({ ${key} }) })`,
        { cause },
      );
    }
  }
  return options;
}
