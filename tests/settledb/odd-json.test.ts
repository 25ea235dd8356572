/** Pages with an old library that changes what JSON is made of lists: a database is refused before anything wrong is stored. */
import { expect, it } from 'vitest';
import { memory } from '../../packages/settledb/src/memory';
import { SettleDB } from '../../packages/settledb/src/settledb';
import { hostAndPage } from '../worker/support';

/** What the library does, only while `work` runs: the test's own tools make JSON too. */
function withToJson<T>(prototype: object, toJSON: (this: unknown) => unknown, work: () => T): T {
  Object.defineProperty(prototype, 'toJSON', { value: toJSON, configurable: true });
  try {
    return work();
  } finally {
    Reflect.deleteProperty(prototype, 'toJSON');
  }
}

const asText = (): string => '[]';

it.each([
  ['lists', Array.prototype],
  ['objects', Object.prototype],
])('refuses a database, whatever kind, where the JSON of %s is wrong', async (_, prototype) => {
  const { Hosted } = hostAndPage();
  const makes = [
    () => new SettleDB('odd-json', { adapter: memory() }),
    () => new SettleDB('http://127.0.0.1:9/odd-json'),
    () => new Hosted('odd-json'),
  ];
  for (const make of makes)
    expect(() => withToJson(prototype, asText, make)).toThrow(
      /^Array.prototype or Object.prototype has a `toJSON`/,
    );
  const db = makes[0]!();
  await db.put({ _id: 'a' });
  await db.destroy();
});

it('does not mind a program that says how its large numbers are written', async () => {
  const db = withToJson(
    BigInt.prototype,
    function () {
      return String(this);
    },
    () => new SettleDB('own-json', { adapter: memory() }),
  );
  expect(await db.info()).toMatchObject({ doc_count: 0 });
  await db.destroy();
});
