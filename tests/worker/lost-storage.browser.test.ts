/**
 * A worker whose storage says that the browser refuses it for good: it gives up, and the page makes the next one in a frame. Only WebKit
 * refuses so; tests/engines/lost.webkit.test.ts is that, here the word is said by the test.
 */
import { expect, it, onTestFinished, vi } from 'vitest';
import { connect } from '../../packages/settledb/src/worker';

it('is given up for one in a frame, again and again: reads, feeds and later writes go on', async () => {
  const workers: Worker[] = [];
  const own = Worker;
  const SettleDB = connect(() => {
    const worker = new Worker(new URL('./losing-worker.ts', import.meta.url), { type: 'module' });
    workers.push(worker);
    return worker;
  });
  onTestFinished(() => {
    SettleDB.disconnect();
    for (const worker of workers) worker.terminate();
    for (const frame of document.querySelectorAll('iframe[hidden]')) frame.remove();
  });
  const frames = (): number => document.querySelectorAll('iframe[hidden]').length;
  const db = new SettleDB<{ _id: string }>(`lost ${Math.random()}`);
  const heard: string[] = [];
  const feed = db.changes({ live: true, since: 0 }).on('change', ({ id }) => heard.push(id));
  await db.put({ _id: 'a' });
  expect(frames()).toBe(0);
  for (const [n, id] of ['b', 'c'].entries()) {
    workers.at(-1)!.postMessage('lose');
    await vi.waitFor(() => expect(workers).toHaveLength(n + 2), { timeout: 30_000 });
    expect(await db.get('a')).toMatchObject({ _id: 'a' });
    await db.put({ _id: id });
    expect([frames(), globalThis.Worker]).toEqual([1, own]);
    expect(workers.at(-1)).not.toBeInstanceOf(own);
  }
  await vi.waitFor(() => expect(heard).toEqual(['a', 'b', 'c']), { timeout: 30_000 });
  feed.cancel();
  await db.destroy();
});

it('that began just now stays: where the next one fares no better, they do not take turns', async () => {
  let made = 0;
  let worker!: Worker;
  const SettleDB = connect(() => {
    made++;
    worker = new Worker(new URL('./losing-worker.ts?young', import.meta.url), { type: 'module' });
    return worker;
  });
  onTestFinished(() => {
    SettleDB.disconnect();
    worker.terminate();
  });
  const db = new SettleDB<{ _id: string }>(`lost ${Math.random()}`);
  await db.put({ _id: 'a' });
  worker.postMessage('lose');
  expect(await db.get('a')).toMatchObject({ _id: 'a' });
  expect(made).toBe(1);
  await db.destroy();
});
