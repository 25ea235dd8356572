/** Calls whose host is lost: which of them are asked of the next one, and which are refused because they may have been done. */
import { closed, locked } from '@settledb/core';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { transfers } from '../../packages/worker/src/streams';
import { begun, type Doc, Hosts, never, PATIENCE } from './hosts';
import { rejection } from './support';

/** Longer than a host's first word is waited for. */
const STILL_MS = 450;

it('a host is not passed over by a page that stood still while it answered', async () => {
  const { postMessage } = BroadcastChannel.prototype;
  let stood = false;
  const said = vi.spyOn(BroadcastChannel.prototype, 'postMessage').mockImplementation(function (
    this: BroadcastChannel,
    message,
  ) {
    postMessage.call(this, message);
    if (!JSON.stringify(message).includes('ping')) return;
    said.mockRestore();
    for (const end = performance.now() + STILL_MS; performance.now() < end; );
    stood = true;
  });
  onTestFinished(() => void said.mockRestore());
  const { hosts } = await begun();
  expect(stood).toBe(true);
  expect(hosts.sessions).toHaveLength(1);
});

describe('a call that its host did not take', () => {
  it('goes to the next host, a write too, and is done once', async () => {
    const { hosts, db } = await begun();
    // Posted, and on its way when the host says that it serves no more.
    const calls = [db.put({ _id: 'a' }), db.get('b'), db.bulkDocs([{ _id: 'c' }, { _id: 'd' }])];
    await undefined;
    await undefined;
    hosts.now.leave();
    expect(await Promise.all(calls)).toMatchObject([{ host: 1 }, { host: 1 }, { host: 1 }]);
    expect(hosts.done).toEqual([[], ['put a', 'get b', 'bulkDocs c', 'bulkDocs d']]);
  });

  it('goes there in the order in which it was made, before those made later, in whatever parts it is sent', async () => {
    const { hosts, db } = await begun();
    const many = Array.from({ length: 4_100 }, (_, n) => ({ _id: 'm', n }));
    const calls: Promise<unknown>[] = [
      db.put({ _id: 'a', n: 1 }),
      db.bulkDocs(many),
      db.put({ _id: 'a', n: 2 }),
    ];
    hosts.now.leave();
    calls.push(db.put({ _id: 'a', n: 3 }));
    await vi.waitFor(() => expect(hosts.sessions).toHaveLength(2), PATIENCE);
    calls.push(db.put({ _id: 'a', n: 4 }));
    await Promise.all(calls);
    const all = hosts.done.flat();
    expect(all.filter((each) => each.startsWith('put'))).toEqual([
      'put a 1',
      'put a 2',
      'put a 3',
      'put a 4',
    ]);
    expect(all.filter((each) => each.startsWith('bulkDocs'))).toEqual(many.map(({ n }) => `bulkDocs m ${n}`));
  });

  it.each([
    'serves no more before the page listens to it',
    'stands still from the start',
  ])('goes to the next host where the first %s, a write too', async (how) => {
    const hosts = new Hosts();
    (how.startsWith('stands') ? hosts.silent : hosts.brief).add(0);
    const db = new (hosts.connect())<Doc>('notes');
    expect(await Promise.all([db.put({ _id: 'a' }), db.get('b')])).toMatchObject([{ host: 1 }, { host: 1 }]);
    expect(hosts.done).toEqual([[], ['put a', 'get b']]);
  });

  it('is refused after five hosts that stand still or serve no more, and the next one is served', async () => {
    const hosts = new Hosts();
    for (let host = 0; host < 5; host++) hosts[host % 2 === 0 ? 'silent' : 'brief'].add(host);
    const db = new (hosts.connect())<Doc>('notes');
    expect(await rejection(db.put({ _id: 'a' }))).toMatchObject({ name: 'worker_terminated' });
    expect(hosts.sessions).toHaveLength(5);
    expect(await db.put({ _id: 'b' })).toMatchObject({ host: 5 });
  });

  it('because its message could not be read goes to the next host, and what was taken before is answered', async () => {
    const { hosts, db } = await begun();
    const release = hosts.holdFirst();
    const before = db.put({ _id: 'a' });
    await vi.waitFor(() => expect(hosts.done[0]).toHaveLength(1), PATIENCE);
    let calls: Promise<unknown>[] = [];
    await hosts.garble(async () => {
      calls = [db.put({ _id: 'b' }), db.get('c')];
      await new Promise((resolve) => setTimeout(resolve, 20));
    });
    expect(await Promise.all(calls)).toMatchObject([{ host: 1 }, { host: 1 }]);
    release();
    expect(await before).toMatchObject({ host: 0 });
    expect(hosts.done).toEqual([['put a'], ['put b', 'get c']]);
  });

  it('goes to the next host, a write too, where the one that took it had not opened the files that the next one has', async () => {
    const { hosts, db } = await begun();
    let refuse!: () => void;
    const refused = new Promise<void>((_, reject) => {
      refuse = () => reject(locked('another worker has the database open'));
    });
    hosts.gate = async (_verb, host) => (host === 0 ? refused : undefined);
    const put = db.put({ _id: 'a' });
    await vi.waitFor(() => expect(hosts.done[0]).toHaveLength(1), PATIENCE);
    hosts.now.leave();
    expect(await db.get('b')).toMatchObject({ host: 1 });
    refuse();
    expect(await put).toMatchObject({ host: 1 });
  });

  it('is refused when the streams it was given are gone with the host', async () => {
    const { hosts, db } = await begun(new Hosts(true));
    const attached = db.putAttachment('a', 'b', '1-c', new Blob(['hello']).stream(), 'text/plain');
    const put = db.put({ _id: 'a' });
    await undefined;
    await undefined;
    hosts.now.leave();
    // Where streams cannot be given away (Safari) it was read before, and is not lost.
    if (transfers(new MessageChannel().port1))
      expect(await rejection(attached)).toMatchObject({ status: 503, name: 'worker_terminated' });
    else expect(await attached).toMatchObject({ host: 1 });
    expect(await put).toMatchObject({ host: 1 });
    expect(hosts.done[0]).toEqual([]);
  });

  it('ends with the reason of its signal when that fired meanwhile', async () => {
    const { hosts, db } = await begun();
    const abort = new AbortController();
    const put = db.put({ _id: 'a' }, { signal: abort.signal });
    await undefined;
    await undefined;
    hosts.now.leave();
    const reason = new Error('enough');
    abort.abort(reason);
    await expect(put).rejects.toBe(reason);
    expect(await db.get('b')).toMatchObject({ host: 1 });
    expect(hosts.done.flat()).toEqual(['get b']);
  });
});

describe("a stream for another tab's worker, which is read in the page", () => {
  it('can be given up by a signal while it gives nothing, and is cancelled', async () => {
    const { hosts, db } = await begun();
    const abort = new AbortController();
    let cancelled: unknown;
    const silent = new ReadableStream({
      pull: () => never,
      cancel: (reason) => {
        cancelled = reason;
      },
    });
    const put = db.put({ _id: 'a', _attachments: { f: { data: silent } } } as never, {
      signal: abort.signal,
    });
    const reason = new Error('enough');
    setTimeout(() => abort.abort(reason), 10);
    await expect(put).rejects.toBe(reason);
    expect(cancelled).toBe(reason);
    expect(hosts.done.flat()).toEqual([]);
  });

  it('fails its call with what it fails with, and with what is no bytes', async () => {
    const { hosts, db } = await begun();
    const attach = (give: (controller: ReadableStreamDefaultController) => void) =>
      rejection(db.putAttachment('a', 'f', '1-b', new ReadableStream({ pull: give }), 'text/plain'));
    const cut = new Error('the line was cut');
    expect(await attach((controller) => controller.error(cut))).toBe(cut);
    expect(await attach((controller) => controller.enqueue('text'))).toMatchObject({ status: 400 });
    expect(hosts.done.flat()).toEqual([]);
  });
});

describe('what is asked for while its host leaves', () => {
  it('with a stream that is yet read goes to the next host', async () => {
    const { hosts, db } = await begun();
    let source!: ReadableStreamDefaultController<Uint8Array>;
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        source = controller;
      },
    });
    const written = db.putAttachment('a', 'f', stream as never, 'x/y');
    source.enqueue(Uint8Array.of(1, 2));
    hosts.now.leave();
    await vi.waitFor(() => expect(hosts.sessions).toHaveLength(2), PATIENCE);
    source.close();
    expect(await written).toMatchObject({ host: 1 });
    expect(hosts.done).toEqual([[], ['putAttachment a']]);
  });

  it('a feed and a write, begin at the next host alone', async () => {
    const { hosts, db } = await begun();
    const release = hosts.holdFirst();
    const held = db.get('held');
    await vi.waitFor(() => expect(hosts.done[0]).toEqual(['get held']), PATIENCE);
    const feed = db.changes({ live: true });
    const put = db.put({ _id: 'a' });
    hosts.now.leave();
    await vi.waitFor(() => expect(hosts.done[1]).toContain('changes'), PATIENCE);
    expect(await put).toMatchObject({ host: 1 });
    release();
    await held;
    expect(hosts.done[0]).toEqual(['get held']);
    feed.cancel();
    await feed;
  });
});

describe('a call that its host took', () => {
  it('is answered by it after it has resigned: a write by it alone, a read by whoever is first', async () => {
    const { hosts, db } = await begun();
    const release = hosts.holdFirst();
    const [put, get] = [db.put({ _id: 'a' }), db.get('b')];
    await vi.waitFor(() => expect(hosts.done[0]).toHaveLength(2), PATIENCE);
    hosts.now.leave();
    expect(await get).toMatchObject({ host: 1 });
    expect(await db.put({ _id: 'later' })).toMatchObject({ host: 1 });
    release();
    expect(await put).toMatchObject({ host: 0 });
    expect(hosts.done).toEqual([
      ['put a', 'get b'],
      ['get b', 'put later'],
    ]);
  });

  it('and only reads is not refused by it after it has resigned: the next one answers', async () => {
    const { hosts, db } = await begun();
    let refuse!: () => void;
    let answer!: () => void;
    const refused = new Promise<void>((_, reject) => {
      refuse = () => reject(closed());
    });
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    hosts.gate = (_verb, host) => (host === 0 ? refused : answered);
    const [get, put] = [db.get('b'), rejection(db.put({ _id: 'a' }))];
    await vi.waitFor(() => expect(hosts.done[0]).toHaveLength(2), PATIENCE);
    hosts.now.leave();
    await vi.waitFor(() => expect(hosts.done[1]).toEqual(['get b']), PATIENCE);
    refuse();
    expect(await put).toMatchObject({ name: 'closed' });
    answer();
    expect(await get).toMatchObject({ host: 1 });
  });

  it.each([
    'resigns and stands still',
    'stands still without a word',
  ])('whose host %s: a read is asked of the next, a write that may have been done is refused', async (how) => {
    const { hosts, db } = await begun();
    hosts.gate = async (_verb, host) => (host === 0 ? never : undefined);
    const [put, get] = [db.put({ _id: 'a' }), db.get('b')];
    await vi.waitFor(() => expect(hosts.done[0]).toHaveLength(2), PATIENCE);
    if (how.startsWith('resigns')) hosts.now.leave();
    // What was said is on its way.
    await new Promise((resolve) => setTimeout(resolve, 20));
    hosts.silent.add(0);
    const refused = rejection(put);
    expect(await get).toMatchObject({ host: 1 });
    expect(await refused).toMatchObject({ status: 503, name: 'worker_terminated' });
    expect(await db.put({ _id: 'c' })).toMatchObject({ host: 1 });
    expect(hosts.done[1]).toEqual(['get b', 'put c']);
  });

  it('and that hosts without end take and lose: is refused at last', async () => {
    const { hosts, db } = await begun();
    hosts.gate = () => never;
    const get = rejection(db.get('a'));
    for (let host = 0; host < 6; host++) {
      await vi.waitFor(() => expect(hosts.done[host]).toEqual(['get a']), PATIENCE);
      hosts.now.leave();
    }
    expect(await get).toMatchObject({ name: 'worker_terminated' });
  });
});

it('a handle that is closed while its host falls silent is closed at the next one too, which had opened it', async () => {
  const { hosts, db } = await begun();
  hosts.gate = (verb, host) => (verb === 'close' && host === 0 ? never : Promise.resolve());
  const closing = db.close();
  await vi.waitFor(() => expect(hosts.closed).toEqual([0]), PATIENCE);
  hosts.silent.add(0);
  await closing;
  await vi.waitFor(() => expect(hosts.closed).toContain(1), PATIENCE);
  expect(hosts.opened).toEqual([0, 1]);
});

it('whatever is called while hosts come and go, a write is done once, and everything is answered', async () => {
  const step = fc.oneof(
    fc.constant('put'),
    fc.constant('get'),
    fc.constant('bulk'),
    fc.constant('leave'),
    fc.constant('task'),
    fc.constant('microtask'),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.nat(3), async (steps, slow) => {
      const hosts = new Hosts();
      const Connected = hosts.connect();
      const db = new Connected<Doc>('notes');
      hosts.gate = async () => {
        for (let task = 0; task < slow; task++) await new Promise((resolve) => setTimeout(resolve));
      };
      const calls: Promise<unknown>[] = [];
      const writes: string[] = [];
      for (const [at, kind] of steps.entries()) {
        if (kind === 'put') calls.push(db.put({ _id: `${at}` }));
        else if (kind === 'get') calls.push(db.get(`${at}`));
        else if (kind === 'bulk') calls.push(db.bulkDocs([{ _id: `${at}` }]));
        else if (kind === 'leave') hosts.sessions.at(-1)?.leave();
        else if (kind === 'task') await new Promise((resolve) => setTimeout(resolve));
        else await undefined;
        if (kind === 'put') writes.push(`put ${at}`);
        if (kind === 'bulk') writes.push(`bulkDocs ${at}`);
      }
      await Promise.all(calls);
      const done = hosts.done.flat().filter((each) => !each.startsWith('get'));
      expect([...done].sort()).toEqual([...writes].sort());
      Connected.disconnect();
      for (const session of hosts.sessions) session.end();
    }),
    { numRuns: 40 },
  );
});
