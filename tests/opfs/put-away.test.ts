/** A worker whose page is put into the back/forward cache ends, if other contexts would wait for files of its own. */
import { opfs } from '@settledb/adapter-opfs';
import { expect, it, vi } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { FakeOpfs } from './fake-opfs';

it('refuses to be put away from the time when it begins to open a database until it has closed it', async () => {
  const listeners: ((event: Event) => void)[] = [];
  vi.stubGlobal('addEventListener', (type: string, listener: (event: Event) => void) => {
    if (type === 'pagehide') listeners.push(listener);
  });
  const isRefused = (): boolean => {
    const event = Object.assign(new Event('pagehide', { cancelable: true }), { persisted: true });
    for (const listener of listeners) listener(event);
    return event.defaultPrevented;
  };
  const system = new FakeOpfs();
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const begun = new Promise<void>((begin) => {
    system.beforeOpening = () => {
      begin();
      return opened;
    };
  });
  const db = new SettleDB('notes', { adapter: opfs({ root: system.root }) });
  await begun;
  expect(isRefused()).toBe(true);
  open();
  await db.put({ _id: 'a' });
  expect(isRefused()).toBe(true);
  await db.close();
  expect(isRefused()).toBe(false);
  const failing = { ...system, root: () => Promise.reject(new DOMException('none', 'SecurityError')) };
  const refused = new SettleDB('notes', { adapter: opfs({ root: failing.root }) });
  await expect(refused.info()).rejects.toMatchObject({ name: 'io' });
  expect(isRefused()).toBe(false);
  expect(listeners).toHaveLength(1);
});
