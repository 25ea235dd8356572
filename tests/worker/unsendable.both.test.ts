/** Answers that cannot be put together, and documents that cannot be sent: the call is refused, and what comes after it is not. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { hostAndPage, rejection, withVerb } from './support';

/** The rows of an answer cannot be joined, as V8 says of more than 512 MB. @returns lets them be joined again */
function failToJoin(): () => void {
  const { join } = Array.prototype;
  Array.prototype.join = function (...args) {
    if (`${this[0]}`.startsWith('[["docs",')) throw new RangeError('Invalid string length');
    return Reflect.apply(join, this, args);
  };
  const restore = (): void => {
    Array.prototype.join = join;
  };
  onTestFinished(restore);
  return restore;
}

it('an answer that cannot be put together is refused, and the connection goes on', async () => {
  const { Hosted } = hostAndPage();
  const db = new Hosted('notes');
  await db.bulkDocs(Array.from({ length: 1_200 }, (_, i) => ({ _id: `doc-${i}` })));
  const letJoin = failToJoin();
  const refused = { status: 400, name: 'bad_request', reason: expect.stringContaining('Invalid string') };
  expect(await rejection(db.allDocs({ include_docs: true }))).toMatchObject(refused);
  letJoin();
  expect((await db.allDocs({ include_docs: true })).rows).toHaveLength(1_200);
  const heard: string[] = [];
  const feed = db.changes({ live: true, since: 'now' }).on('change', ({ id }) => heard.push(id));
  await db.info();
  await db.put({ _id: 'after' });
  await vi.waitFor(() => expect(heard).toEqual(['after']));
  feed.cancel();
});

/** A `BigInt` fails where a text of 512 MB does, since JSON has no text for it, and can be cloned. */
it.each([
  ['get', { n: 2n }],
  ['allDocs', { n: 2n }],
  ['bulkDocs', [{ error: true, n: 2n }]],
])('an answer of %s that no text can hold is cloned, and refused if it cannot be', async (verb, answer) => {
  let answered: unknown = answer;
  const open = withVerb(verb, async () => answered);
  const { Hosted } = hostAndPage({}, {}, { open, own: true });
  const db = new Hosted('notes');
  const ask = (): Promise<unknown> => (db as unknown as Record<string, () => Promise<unknown>>)[verb]!();
  expect(await ask()).toEqual(answer);
  const others = await Promise.all([ask(), ask(), ask()]);
  expect(others).toEqual([answer, answer, answer]);
  answered = Array.isArray(answer) ? [{ ...answer[0], f: () => {} }] : { ...answer, f: () => {} };
  const reason = expect.stringContaining('could not cross from the worker');
  expect(await rejection(ask())).toMatchObject({ status: 400, name: 'bad_request', reason });
});

it('large documents come in parts of some megabytes', async () => {
  const { Hosted } = hostAndPage();
  const db = new Hosted('notes');
  const text = 'x'.repeat(700_000);
  await db.bulkDocs(Array.from({ length: 12 }, (_, i) => ({ _id: `doc-${i}`, text })));
  const lengths: number[] = [];
  const post = MessagePort.prototype.postMessage;
  MessagePort.prototype.postMessage = function (this: MessagePort, ...args: unknown[]) {
    if (typeof args[0] === 'string') lengths.push(args[0].length);
    return Reflect.apply(post, this, args) as undefined;
  };
  onTestFinished(() => {
    MessagePort.prototype.postMessage = post;
  });
  const { rows } = await db.allDocs({ include_docs: true });
  expect(rows).toHaveLength(12);
  expect(Math.max(...lengths)).toBeLessThan(3 * 1024 * 1024);
});

it.each([
  3, 2_500,
])('a list of %i documents that a message cannot hold is refused, and nothing of it is written', async (count) => {
  const { Hosted } = hostAndPage();
  const db = new Hosted('notes');
  await db.info();
  const post = MessagePort.prototype.postMessage;
  // As browsers refuse a message of some gigabytes.
  MessagePort.prototype.postMessage = function (this: MessagePort, ...args: unknown[]) {
    const isLarge = ([kind, , texts]: unknown[]): boolean =>
      kind === 'part' && (texts as unknown[]).some((text) => `${text}`.includes('too large'));
    if (Array.isArray(args[0]) && args[0].some(isLarge))
      throw new DOMException('out of memory', 'DataCloneError');
    return Reflect.apply(post, this, args) as undefined;
  };
  onTestFinished(() => {
    MessagePort.prototype.postMessage = post;
  });
  const docs = Array.from({ length: count }, (_, i) => ({
    _id: `doc-${i}`,
    text: i === count - 1 ? 'too large' : '',
  }));
  const refused = await rejection(db.bulkDocs(docs));
  expect(refused).toMatchObject({ status: 400, reason: expect.stringContaining('out of memory') });
  expect(await db.info()).toMatchObject({ doc_count: 0 });
  expect(await db.bulkDocs(docs.slice(0, 2))).toHaveLength(2);
});
