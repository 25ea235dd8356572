/** Messages of the worker that are not JSON: a stored text crosses as it is, and the storage may have damaged it. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { Channel } from '../../packages/worker/src/channel';

it('an answer that cannot be read ends the connection: the calls that wait for one go to the next, or reject', async () => {
  const { port1, port2 } = new MessageChannel();
  onTestFinished(() => port1.close());
  const broken = vi.fn();
  new Channel(port1, { told: () => {}, opened: () => {}, moved: () => {}, broken });
  port2.postMessage('[["json",1,{"_id":"a","text"\u0001:1}]]');
  const error = expect.objectContaining({
    name: 'worker_terminated',
    reason: expect.stringContaining('could not be read'),
    cause: expect.any(SyntaxError),
  });
  await vi.waitFor(() => expect(broken).toHaveBeenCalledExactlyOnceWith(error));
});
