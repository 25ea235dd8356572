/** A host and a page in one context, over a MessageChannel: everything but the worker itself. */
import { memory } from '@settledb/adapter-memory';
import { Host, type HostContext, type HostOptions } from '@settledb/worker';
import { onTestFinished } from 'vitest';
import { type ConnectOptions, connect, type HostedSettleDB } from '../../packages/settledb/src/connect';
import { contextOf } from '../../packages/settledb/src/hosting';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { PATIENCE_MS } from '../support/timeouts';

export type Open = (
  name: string,
  options: object,
) => { on(event: string, listener: never): unknown; close(): Promise<unknown> };

export interface Pair {
  readonly Hosted: HostedSettleDB;
  readonly host: Host;
  /** Another page of the same host. */
  page(options?: ConnectOptions): HostedSettleDB;
}

/** A class of handles whose databases are in memory, behind the whole of host and client. */
export function hostAndPage(
  options: ConnectOptions = {},
  hostOptions: HostOptions = {},
  given: Open | Omit<HostContext, 'dedicated'> = contextOf(SettleDB.defaults({ adapter: memory() })),
): Pair {
  const context = typeof given === 'function' ? { open: given as never } : given;
  const host = new Host({ ...context, dedicated: false }, hostOptions);
  const page = (more: ConnectOptions = options): HostedSettleDB => {
    const { port1, port2 } = new MessageChannel();
    port1.addEventListener('message', host.accept);
    port1.start();
    const Hosted = connect(port2, { timeout_ms: PATIENCE_MS, adapters: ['memory'], ...more });
    onTestFinished(() => {
      Hosted.disconnect();
      port1.close();
      port2.close();
    });
    return Hosted;
  };
  return { Hosted: page(), host, page };
}

/** A handle with one verb, to see what reaches it. */
export const withVerb = (name: string, verb: (...args: never[]) => unknown) => () => ({
  on: () => {},
  close: async () => {},
  [name]: verb,
});

/** Counts messages of hosts and pages until `stop`, on all ports of the context; not those of the test runner, which has one too. */
export function countMessages(): { stop(): number } {
  const post = MessagePort.prototype.postMessage;
  let count = 0;
  MessagePort.prototype.postMessage = function (this: MessagePort, ...args: unknown[]) {
    if (typeof args[0] === 'string' || Array.isArray(args[0])) count++;
    return Reflect.apply(post, this, args) as undefined;
  };
  return {
    stop: () => {
      MessagePort.prototype.postMessage = post;
      return count;
    },
  };
}

/** What a promise was rejected with. */
export async function rejection(promise: PromiseLike<unknown>): Promise<Error & Record<string, unknown>> {
  try {
    await promise;
  } catch (error) {
    return error as Error & Record<string, unknown>;
  }
  throw new Error('it was to be refused');
}
