/** `await using`, in browsers that do not know it. */
import { buildSync } from 'esbuild';
import { expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';

it('is asked for by another name where there is no Symbol.asyncDispose', async () => {
  const contents = `
    import { nameDispose } from './packages/settledb/src/dispose';
    class Closed { [Symbol.asyncDispose]() { return 'closed'; } }
    for (let twice = 0; twice < 2; twice++) nameDispose(Closed.prototype);
    answer(new Closed());
  `;
  const { outputFiles } = buildSync({
    stdin: { contents, resolveDir: '.' },
    ...{ bundle: true, format: 'iife', target: 'es2022', write: false },
  });
  const program = new Function('Symbol', 'answer', outputFiles[0]!.text);
  const disposed = (symbol: unknown) =>
    new Promise<Record<PropertyKey, () => string>>((answer) => program(symbol, answer));
  const name = Symbol.for('Symbol.asyncDispose');
  const older = await disposed({ for: Symbol.for });
  expect(older[name]!()).toBe('closed');
  expect('undefined' in older).toBe(false);
  const now = await disposed({ for: Symbol.for, asyncDispose: Symbol.asyncDispose });
  expect(now[Symbol.asyncDispose]!()).toBe('closed');
  expect(name in now).toBe(false);
});

it('is a method, which a class of one’s own may do more in', async () => {
  let ended = '';
  class Mine extends SettleDB {
    override async [Symbol.asyncDispose](): Promise<void> {
      await super[Symbol.asyncDispose]();
      ended = this.name;
    }
  }
  {
    await using db = new Mine('mine', { adapter: 'memory' });
    await db.info();
  }
  expect(ended).toBe('mine');
});
