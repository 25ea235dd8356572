/** Pages of whose end no lock tells: those that were reloaded while they asked, and those that are told to have none; and whose last word is lost. */
import { memory } from '@settledb/adapter-memory';
import { Host } from '@settledb/worker';
import { transfer } from 'comlink';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { contextOf } from '../../packages/settledb/src/hosting';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { controlOver } from '../../packages/worker/src/control';
import { type HostOp, opsIn, PROTOCOL } from '../../packages/worker/src/wire';
import { PATIENCE } from './hosts';

/** As in `host.ts`. */
const FIRST_WORD_MS = 10_000;

/** A host, and what asks it to be served. */
function hosting() {
  const context = contextOf(SettleDB.defaults({ adapter: memory() }));
  const host = new Host({ ...context, dedicated: false }, {});
  const { port1, port2 } = new MessageChannel();
  host.accept(new MessageEvent('message', { data: { settledb: 'hello', port: port2 } }));
  const control = controlOver(port1);
  onTestFinished(() => control.release());
  const attach = async (lock: string | undefined) => {
    const page = new MessageChannel();
    await control.attach(transfer(page.port2, [page.port2]), { protocol: PROTOCOL, lock });
    const heard: HostOp[] = [];
    page.port1.addEventListener('message', ({ data }) => void heard.push(...opsIn<HostOp>(data)));
    onTestFinished(() => page.port1.close());
    return { port: page.port1, heard };
  };
  return { host, attach };
}

describe('a page without a lock', () => {
  for (const lock of [undefined, `nobody has ${Math.random()}`]) {
    it(`(${lock === undefined ? 'none' : 'none any more'}) that says nothing is served no more, and hears of it if it was only late`, async () => {
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
      onTestFinished(() => void vi.useRealTimers());
      const { host, attach } = hosting();
      const silent = await attach(lock);
      const speaks = await attach(lock && `${lock}, nor this`);
      speaks.port.start();
      speaks.port.postMessage([['ping']]);
      await until(() => speaks.heard.some(([kind]) => kind === 'pong'));
      expect(host.pages).toBe(2);
      vi.advanceTimersByTime(FIRST_WORD_MS);
      expect(host.pages).toBe(1);
      silent.port.start();
      await until(() => silent.heard.length > 0);
      expect(silent.heard).toEqual([['moved', 0]]);
    });
  }

  it('that says it is going is served until all that it said is heard', async () => {
    const { host, attach } = hosting();
    const { port, heard } = await attach(undefined);
    port.start();
    port.postMessage([['open', 1, 'going', {}, 'memory', undefined], ['going']]);
    port.postMessage([['call', 1, 1, 'put', { args: [{ _id: 'last' }] }]]);
    await vi.waitFor(
      () => expect(heard).toContainEqual(expect.objectContaining({ 0: 'json', 1: 1 })),
      PATIENCE,
    );
    await vi.waitFor(() => expect(host.pages).toBe(0), PATIENCE);
  });
});

it('a page that asks again is served once, though its word that it left is lost with its channel', async () => {
  const { host, attach } = hosting();
  const lock = `of this page ${Math.random()}`;
  const former = await attach(lock);
  await attach(undefined);
  await attach(`of another page ${Math.random()}`);
  expect(host.pages).toBe(3);
  const now = await attach(lock);
  expect(host.pages).toBe(3);
  former.port.start();
  await vi.waitFor(() => expect(former.heard).toEqual([['moved', 0]]), PATIENCE);
  now.port.start();
  now.port.postMessage([['ping']]);
  await vi.waitFor(() => expect(now.heard).toEqual([['pong']]), PATIENCE);
});

/** By other timers than those that stand still. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
}
