/** Suites in a worker (support/in-worker.ts): they have what they have elsewhere, and what fails in them fails here and says why. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { inWorker, startSuites } from './support/in-worker';
import type { Listed } from './support/in-worker-messages';

await inWorker(import.meta.url, () => {
  describe('a suite in a worker', () => {
    it('is in a dedicated one', () => {
      expect(typeof document).toBe('undefined');
      expect(self.constructor.name).toBe('DedicatedWorkerGlobalScope');
    });

    it('has the matchers, the mocks and the patience of vitest', async () => {
      await expect(Promise.reject(new RangeError('no'))).rejects.toThrow(RangeError);
      await expect(Promise.resolve({ a: 1 })).resolves.toEqual({ a: expect.any(Number) });
      let n = 0;
      await expect.poll(() => ++n).toBe(2);
      await vi.waitFor(() => expect(++n).toBe(4));
      const clock = vi.spyOn(Date, 'now').mockReturnValue(5);
      onTestFinished(() => clock.mockRestore());
      expect(Date.now()).toBe(5);
    });

    it('may provoke what nobody handles, if it prevents the default', async () => {
      const heard = new Promise<void>((resolve) => {
        const listener = (event: Event): void => {
          event.preventDefault();
          resolve();
        };
        addEventListener('unhandledrejection', listener, { once: true });
      });
      void Promise.reject(new Error('provoked'));
      await heard;
    });

    it.skip('skips what is skipped', () => expect.unreachable());

    it.todo('leaves what is left to do');

    describe.each(['one', 'other'])('of the %s kind', (kind) => {
      it.each([1, 2])('knows its name, %i', (i) => {
        expect(expect.getState().currentTestName).toContain(`of the ${kind} kind > knows its name, ${i}`);
      });
    });
  });

  describe('hooks in a worker', () => {
    const order: string[] = [];
    beforeAll(() => void order.push('beforeAll'));
    afterAll(() => expect(order).toEqual(['beforeEach', 'afterEach', 'cleanup']));
    beforeEach(() => {
      order.push('beforeEach');
      return () => void order.push('cleanup');
    });
    afterEach(() => void order.push('afterEach'));

    it('run around each test', () => {
      expect(order).toEqual(['beforeAll', 'beforeEach']);
      onTestFinished(() => void order.push('finished'));
    });

    it('run once where once is meant', () => {
      const first = ['beforeAll', 'beforeEach', 'afterEach', 'cleanup', 'finished'];
      expect(order.splice(0)).toEqual([...first, 'beforeEach']);
      order.push('beforeEach');
    });
  });
});

// In the worker this file declares nothing else.
if (typeof document !== 'undefined') failures();

function failures(): void {
  const url = new URL('./support/in-worker-failing.ts', import.meta.url).href;

  const start = async () => {
    const unhandled: string[] = [];
    const { suites, tasks, worker } = await startSuites(url, ({ message }) => unhandled.push(message));
    onTestFinished(() => worker.terminate());
    const idOf = (name: string): string => testsOf(tasks).find((test) => test.name === name)!.id;
    return { suites, unhandled, run: (name: string) => suites.run(idOf(name)) };
  };

  it('hands over message, difference and stack, of the test and of its hooks, and what nobody handled', async () => {
    const { run, unhandled } = await start();
    const { state, errors } = await run('expects what is not');
    expect(state).toBe('fail');
    expect(errors).toMatchObject([
      { name: 'AssertionError', message: expect.stringContaining('to deeply equal') },
      { message: 'and then this' },
    ]);
    expect(errors[0]?.diff).toContain('Any<String>');
    expect(errors[0]?.stack).toContain('in-worker-failing.ts');
    await vi.waitFor(() => expect(unhandled).toEqual(['nobody handles this']));
    expect(await run('throws in the middle of nowhere')).toMatchObject({ state: 'pass' });
    await vi.waitFor(() => expect(unhandled).toEqual(['nobody handles this', 'nobody catches this']));
  });

  it('passes over what was not asked for', async () => {
    const { run } = await start();
    expect(await run('passes')).toEqual({ state: 'pass', errors: [] });
    expect(await run('stands too long')).toMatchObject({
      errors: [{ message: expect.stringContaining('timed out in 10ms') }],
    });
    expect(await run('expects one assertion')).toMatchObject({ state: 'fail' });
    expect(await run('skips itself')).toEqual({ state: 'skip', errors: [], note: 'as it should' });
    expect(await run('expects what is not')).toMatchObject({
      state: 'fail',
      errors: [{ message: expect.stringContaining('did not run') }],
    });
  });

  it('fails every test of a suite that did not begin, and tells in the end of one that did not end', async () => {
    const { run, suites } = await start();
    const notBegun = { state: 'fail', errors: [{ name: 'TypeError', message: 'not begun' }] };
    expect(await run('has no turn')).toMatchObject(notBegun);
    expect(await run('has none either')).toMatchObject(notBegun);
    expect(await run('has its turn')).toMatchObject({ state: 'pass' });
    expect(await suites.end()).toMatchObject([{ message: 'not begun' }, { message: 'not ended' }]);
  });

  it('says why a worker or its file cannot be loaded', async () => {
    const missing = new URL('./support/nothing-is-here.ts', import.meta.url).href;
    await expect(startSuites(missing)).rejects.toThrow(AggregateError);
  });
}

const testsOf = (tasks: readonly Listed[]): Listed[] =>
  tasks.flatMap((task) => (task.tasks ? testsOf(task.tasks) : [task]));
