/** Calls that were made before `close()`: what is at hand is written, and no source of bytes is waited for that may stand still. */
import { memory } from '@settledb/adapter-memory';
import { expect, it } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/settledb';

const setUp = () => {
  const adapter = memory();
  return (): SettleDB => new SettleDB('a', { adapter });
};

it.each(['open', 'opening'])('writes of several steps are served by a handle that is %s', async (state) => {
  const open = setUp();
  const before = open();
  const attached = { f: { content_type: 'x/y', data: 'AAAA' } };
  const { rev } = await before.put({ _id: 'removed', _attachments: attached });
  const purged = await before.put({ _id: 'purged' });
  await before.close();

  const db = open();
  if (state === 'open') await db.info();
  const calls = [
    db.put({ _id: 'put', _attachments: attached }),
    db.bulkDocs([{ _id: 'bulk', _attachments: attached }]),
    db.putAttachment('attached', 'f', 'AAAA', 'x/y'),
    db.putAttachment('blob', 'f', new Blob(['abc'])),
    db.removeAttachment('removed', 'f', rev),
    db.purge('purged', purged.rev),
  ];
  const closed = db.close();
  await expect(db.put({ _id: 'late', _attachments: attached })).rejects.toMatchObject({ name: 'closed' });
  await Promise.all([...calls, closed]);

  const after = open();
  const { rows } = await after.allDocs({ include_docs: true });
  const names = rows.map((row) => ['doc' in row && Object.keys(row.doc?._attachments ?? {}), row.key]);
  expect(names).toEqual([
    [['f'], 'attached'],
    [['f'], 'blob'],
    [['f'], 'bulk'],
    [['f'], 'put'],
    [[], 'removed'],
  ]);
  await after.destroy();
});

const never = new Promise<never>(() => {});

// Closed at once, what reads the source has not begun.
it.each([
  0, 1,
])('a source that stands still is let go of, and its call refused: after %i calls', async (turns) => {
  const open = setUp();
  const left: string[] = [];
  const sources = {
    stream: new ReadableStream<Uint8Array>({ pull: () => never, cancel: () => void left.push('stream') }),
    begun: new ReadableStream<Uint8Array>({
      pull: (controller) => (left.length < 1 ? controller.enqueue(new Uint8Array(3_000_000)) : never),
      cancel: () => void left.push('begun'),
    }),
    iterable: {
      [Symbol.asyncIterator]: () => ({
        next: () => never,
        return: async () => ({ done: true, value: left.push('iterable') }),
      }),
    },
    opened: () => never,
  };
  for (const end of ['close', 'destroy'] as const) {
    const db = open();
    const calls = Object.entries(sources)
      .filter(([name]) => end === 'close' || name === 'iterable' || name === 'opened')
      .map(([name, data]) => db.putAttachment(name, 'f', data as never, 'x/y'));
    const refused = calls.map((call) => expect(call).rejects.toMatchObject({ status: 412, name: 'closed' }));
    if (turns > 0) await db.get('not there').catch(() => {});
    await db[end]();
    await Promise.all(refused);
  }
  expect(left.sort()).toEqual(['begun', 'iterable', 'iterable', 'stream']);
  const after = open();
  expect(await after.allDocs()).toMatchObject({ rows: [] });
  await after.destroy();
});
