/** What a database's channel does where the context's channels are of a kind of their own. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { Channel, type Message } from '../../adapters/indexeddb/src/channel';

it('is kept where none lives by the signs of a browser: nothing is made up, and it hears as before', () => {
  const opened: Own[] = [];
  /** Takes everything, and refuses no symbol. */
  class Own extends EventTarget {
    isClosed = false;
    constructor(readonly name: string) {
      super();
      opened.push(this);
    }
    postMessage(): void {}
    close(): void {
      this.isClosed = true;
    }
  }
  vi.stubGlobal('BroadcastChannel', Own);
  onTestFinished(() => void vi.unstubAllGlobals());
  const heard: Message[] = [];
  const channel = new Channel('own', (message) => heard.push(message));
  vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 1_000); // before that it does not look
  onTestFinished(() => void vi.restoreAllMocks());
  channel.heal();
  expect(heard).toEqual([]);
  expect(opened.map(({ isClosed }) => isClosed)).toEqual([false, true]);
  opened[0]!.dispatchEvent(new MessageEvent('message', { data: { type: 'bye' } }));
  expect(heard).toEqual([{ type: 'bye' }]);
  channel.close();
  expect(opened.every(({ isClosed }) => isClosed)).toBe(true);
});
