/** A worker that stands still without a word, as one that the browser has frozen. */
import type { Page } from 'playwright';

/** Stops the dedicated worker of a tab at the next thing it does, by its debugger. Resolves when the debugger has heard of it. */
export async function stopWorker(page: Page): Promise<{ goOn(): Promise<void> }> {
  const session = await page.context().newCDPSession(page);
  const attached = new Promise<string>((resolve) => {
    session.on('Target.attachedToTarget', ({ sessionId }) => resolve(sessionId));
  });
  await session.send('Target.setAutoAttach', {
    autoAttach: true,
    waitForDebuggerOnStart: false,
    flatten: false,
  });
  const sessionId = await attached;
  let said = 0;
  /** Resolves when the worker has done it: that a message is on its way says nothing. */
  const say = async (method: string): Promise<void> => {
    const id = ++said;
    const done = new Promise<void>((resolve) => {
      session.on('Target.receivedMessageFromTarget', ({ message }) => {
        if ((JSON.parse(message) as { id?: number }).id === id) resolve();
      });
    });
    const message = JSON.stringify({ id, method });
    await session.send('Target.sendMessageToTarget', { sessionId, message });
    await done;
  };
  await say('Debugger.enable');
  await say('Debugger.pause');
  return { goOn: () => say('Debugger.resume') };
}
