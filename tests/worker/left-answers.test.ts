/** Streams on their way when the page, or its handle, goes: they are left. */
import { memory } from '@settledb/adapter-memory';
import { expect, it, onTestFinished, vi } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { LinkChannel } from '../../packages/worker/src/link-channel';
import { Session, type SessionOptions } from '../../packages/worker/src/session';
import type { ClientOp, Endpoint } from '../../packages/worker/src/wire';
import { Hosts } from './hosts';
import { rejection } from './support';

/** The session of a page that opens an attachment of which `openAttachment` answers. */
function opening(endpoint: Endpoint, openAttachment: () => Promise<object>): Session {
  const open = (() => ({
    on: () => {},
    close: async () => {},
    openAttachment,
  })) as unknown as SessionOptions['open'];
  return new Session(endpoint, { open, own: true, functions: {}, follow: () => undefined as never });
}

const OPS: readonly ClientOp[] = [
  ['open', 1, 'notes', {}, 'memory', undefined],
  ['call', 1, 1, 'openAttachment', { args: ['a', 'b'] }],
];

it('a stream that comes when its page has gone is cancelled', async () => {
  class Page extends EventTarget {
    postMessage(): void {}
    close(): void {}
  }
  const page = new Page();
  let answer = (_: object): void => {};
  const session = opening(
    page as unknown as Endpoint,
    () =>
      new Promise((resolve) => {
        answer = resolve;
      }),
  );
  page.dispatchEvent(new MessageEvent('message', { data: OPS }));
  session.end();
  const cancel = vi.fn();
  answer({ stream: new ReadableStream({ cancel }) });
  await vi.waitFor(() => expect(cancel).toHaveBeenCalledOnce());
});

it('a stream that is read for a page that it cannot be handed to is left when that page goes', async () => {
  const [here, there] = [new LinkChannel('left answers'), new LinkChannel('left answers')];
  onTestFinished(() => {
    here.close();
    there.close();
  });
  const cancel = vi.fn();
  const pull = vi.fn(async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    await new Promise((resolve) => setTimeout(resolve));
    controller.enqueue(new Uint8Array(10));
  });
  const session = opening(here, async () => ({ stream: new ReadableStream({ pull, cancel }) }));
  there.postMessage(OPS);
  await vi.waitFor(() => expect(pull.mock.calls.length).toBeGreaterThan(3));
  session.end();
  await vi.waitFor(() => expect(cancel).toHaveBeenCalledOnce());
});

it('a stream that stands still, and has to be read before its call is sent, is left when the handle is closed', async () => {
  const hosts = new Hosts();
  const adapter = memory();
  hosts.open = (name) => new SettleDB(name, { adapter });
  const db = new (hosts.connect())('notes');
  await db.info();
  const cancel = vi.fn();
  const refused = rejection(db.putAttachment('a', 'x', new ReadableStream({ cancel }), 'a/b'));
  await db.close();
  expect(await refused).toMatchObject({ status: 412, name: 'closed' });
  expect(cancel).toHaveBeenCalledOnce();
});
