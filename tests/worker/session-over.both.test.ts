/** A session that is over while an answer is on its way, as when the page that left a slow host gives it up. */
import { BasicFeed } from '@settledb/core';
import { expect, it, vi } from 'vitest';
import { Session } from '../../packages/worker/src/session';
import type { Hosted } from '../../packages/worker/src/verbs';
import type { ClientOp, Endpoint } from '../../packages/worker/src/wire';
import { Hosts, never, PATIENCE } from './hosts';
import { rejection } from './support';

const ROWS = 2_000;

it('says nothing more, since its channel is closed', async () => {
  const hosted = {
    on: () => {},
    close: async () => {},
    put: () => never,
    allDocs: async () => ({ rows: Array.from({ length: ROWS }, (_, id) => ({ id })) }),
  };
  let hear = (_ops: readonly ClientOp[]): void => {};
  let isClosed = false;
  let posted = 0;
  const refused: unknown[] = [];
  const endpoint: Endpoint = {
    addEventListener: (type, listener) => {
      if (type === 'message') hear = (data) => listener(new MessageEvent('message', { data }));
    },
    close: () => {
      isClosed = true;
    },
    // As a BroadcastChannel does.
    postMessage(message) {
      if (isClosed) {
        refused.push(message);
        throw new DOMException('The channel is closed', 'InvalidStateError');
      }
      if (++posted === 1) hear([['leave'], ['bye']]);
    },
  };
  const open = (): Hosted => hosted as unknown as Hosted;
  new Session(endpoint, { open, own: false, functions: {}, follow: () => new BasicFeed(async () => {}) });
  hear([
    ['open', 1, 'notes', {}, 'memory', undefined],
    ['call', 1, 1, 'put', { args: [{ _id: 'a' }] }],
    ['call', 2, 1, 'allDocs', { args: [] }],
  ]);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect([posted, isClosed, refused]).toEqual([1, true, []]);
});

it('gives up what its page had asked for and could have given up', async () => {
  const hosts = new Hosts();
  const given: AbortSignal[] = [];
  const compact = async ({ signal }: { signal: AbortSignal }): Promise<void> => {
    if (given.push(signal) > 1) await never;
  };
  hosts.open = () => ({ on: () => {}, close: async () => {}, compact }) as Hosted;
  const Connected = hosts.connect();
  const db = new Connected('notes');
  const { signal } = new AbortController();
  await db.compact({ signal });
  const lost = rejection(db.compact({ signal }));
  await vi.waitFor(() => expect(given).toHaveLength(2), PATIENCE);
  Connected.disconnect();
  await vi.waitFor(() => expect(given[1]!.aborted).toBe(true), PATIENCE);
  expect(given[0]!.aborted).toBe(false); // Nothing is kept of a call that was answered.
  expect(await lost).toMatchObject({ name: 'worker_terminated' });
});
