/** What a host keeps of calls that it refuses, or leaves to another one, and a page of its worker's answers: nothing. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, onTestFinished } from 'vitest';
import { Host } from '../../packages/worker/src/host';
import { OwnWorker } from '../../packages/worker/src/own-worker';
import { Session, type SessionOptions } from '../../packages/worker/src/session';
import type { ClientOp, Endpoint } from '../../packages/worker/src/wire';
import { PATIENCE_MS } from '../support/timeouts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const nextTask = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

class Silent extends EventTarget {
  postMessage(): void {}
  close(): void {}
  say(...ops: ClientOp[]): void {
    this.dispatchEvent(new MessageEvent('message', { data: ops }));
  }
}

it.each([
  ['is refused', () => {}],
  ['belongs to the next host', (session: Session) => session.leave()],
])('the documents of a call that %s are let go', async (_how, before) => {
  const page = new Silent();
  const never = new Promise<never>(() => {});
  const opened = { on: () => {}, close: async () => {}, get: () => never };
  const open = ((name: string) => {
    if (name === 'refused') throw new Error('Invalid Adapter');
    return opened;
  }) as unknown as SessionOptions['open'];
  const options = { open, own: true, functions: {}, follow: () => undefined as never };
  const session = new Session(page as unknown as Endpoint, options);
  page.say(['open', 1, 'refused', {}, 'memory', undefined], ['open', 2, 'other', {}, 'memory', undefined]);
  // With a call under way it stays.
  page.say(['call', 1, 2, 'get', { args: ['a'] }]);
  before(session);
  const ask = (): WeakRef<object> => {
    const texts = ['a', undefined, '{}'];
    page.say(['part', 2, texts], ['call', 2, 1, 'bulkDocs', { args: [undefined], json: '[]', parts: '' }]);
    return new WeakRef(texts);
  };
  const texts = ask();
  await nextTask();
  collect();
  expect(texts.deref()).toBeUndefined();
  expect(session).toBeInstanceOf(Session);
});

it('what a worker answered when it was asked to serve is let go while the worker lives', async () => {
  const { port1, port2 } = new MessageChannel();
  onTestFinished(() => port1.close());
  const host = new Host({ open: () => ({ on: () => {}, close: async () => {} }), dedicated: false });
  port1.addEventListener('message', host.accept);
  port1.start();
  const own = new OwnWorker(port2, PATIENCE_MS, () => {});
  onTestFinished(() => own.close());
  const attach = async (): Promise<WeakRef<object>> => {
    const { welcome, endpoint } = await own.attach();
    endpoint.close();
    return new WeakRef(welcome);
  };
  const welcome = await attach();
  await nextTask();
  collect();
  expect(welcome.deref()).toBeUndefined();
});
