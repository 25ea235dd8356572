/** The workers a page can be connected to, and how to say the first word to each. */
import { show } from '@settledb/core';
import type { Ended, Hello, PutAway } from './wire';

/** A worker, or an object that leads to one. */
export type Target =
  | Worker
  | SharedWorkerLike
  | MessagePort
  | ServiceWorker
  | ServiceWorkerRegistration
  | ServiceWorkerContainer;

/** A `SharedWorker`, by its shape: the types of workers do not have that name. */
type SharedWorkerLike = EventTarget & { readonly port: MessagePort };

/** A worker, or a function that makes one. With a function another can be made when the first has died. */
export type Targets = Target | (() => Target);

/** By its shape: a worker may be another window's. @throws TypeError for anything else */
export function checkTarget(given: Target): Target {
  const { postMessage, port } = given as { postMessage?: unknown; port?: Partial<MessagePort> };
  const isTarget =
    typeof given === 'object' &&
    (typeof (postMessage ?? port?.start) === 'function' || 'ready' in given || 'active' in given);
  if (isTarget) return given;
  throw new TypeError(
    `connect() was given ${show(given)}, which is no worker: give it what makes one, connect(() => new Worker(…))`,
  );
}

interface Poster {
  postMessage(message: unknown, transfer: Transferable[]): void;
}

/** Says hello, with a port to answer on. */
export async function greet(target: Target, port: MessagePort): Promise<void> {
  const hello: Hello = { settledb: 'hello', port };
  (await posterOf(target)).postMessage(hello, [port]);
}

async function posterOf(target: Target): Promise<Poster> {
  if ('ready' in target) {
    // A page that no service worker controls yet will have one soon: `ready` resolves when one is active.
    return posterOf(await target.ready);
  }
  if ('active' in target) {
    if (target.active === null)
      throw new TypeError(
        'The registration has no active service worker: await navigator.serviceWorker.ready',
      );
    return target.active;
  }
  if ('port' in target) {
    target.port.start();
    return target.port;
  }
  return target as Poster;
}

/** Sent at once: nothing may come between it and the freezing. Shared and service workers go on without the page. */
export function sayPutAway(target: Target, word: PutAway): void {
  if ('postMessage' in target && !('scriptURL' in target)) target.postMessage(word);
}

/** Whether it is a service worker, or leads to one: a message starts it again. */
export const isService = (target: Target): boolean =>
  'ready' in target || 'active' in target || 'scriptURL' in target;

/**
 * The browser stops a service worker that seems to have nothing to do; each message gives it some time, and those of ports do not count.
 * It need not control the page: one that was loaded before it has no `controller`.
 */
export function keepAwake(target: Target): void {
  if (!isService(target)) return;
  posterOf(target).then(
    (worker) => worker.postMessage({ settledb: 'stay' }, []),
    () => {}, // its end is noticed
  );
}

/** Calls `failed` when the worker's script cannot be loaded or run. @returns a function that stops listening */
export function onFailure(target: Target, failed: (reason: string) => void): () => void {
  if (!('addEventListener' in target) || 'ready' in target) return () => {};
  const listener = (event: Event): void =>
    failed((event as ErrorEvent).message || 'the script could not be loaded');
  target.addEventListener('error', listener);
  return () => target.removeEventListener('error', listener);
}

/** Calls `ended` when a worker says so. @returns a function that stops listening */
export function onEnded(target: Target, ended: (isLost: boolean) => void): () => void {
  if (!('postMessage' in target) || 'scriptURL' in target) return () => {};
  const listener = (event: Event): void => {
    const { settledb, isLost = false } = ((event as MessageEvent).data ?? {}) as Partial<Ended>;
    if (settledb === 'ended') ended(isLost);
  };
  target.addEventListener('message', listener);
  return () => target.removeEventListener('message', listener);
}

/** Ends a worker that this page made and that does not answer. */
export function terminate(target: Target): void {
  if (canTerminate(target)) target.terminate();
}

/** Whether it is the page's alone. By its shape: it may be a frame's. */
const canTerminate = (target: Target): target is Worker => 'terminate' in target;
