import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Checkpoints } from '../../packages/replication/src/checkpoint';
import {
  type Checkpoint,
  commonSeq,
  covers,
  recorded,
  type Session,
} from '../../packages/replication/src/sessions';

const session = (session_id: string, last_seq: number | string, n?: number): Session => ({
  session_id,
  last_seq,
  ...(n === undefined ? {} : { recorded: n }),
});
const holding = (...sessions: Session[]): Checkpoint =>
  sessions.reduce<Checkpoint | undefined>((before, one) => recorded(before, one), undefined)!;

/** Those of a target of the test, or of both sides. */
const at = (target: object, source?: object): Checkpoints =>
  new Checkpoints({
    source: source as never,
    target: target as never,
    id: '_local/x',
    sessionId: 'a',
    on: { source: source !== undefined, target: true },
    instances: '',
    instanceOf: { source: '', target: '' },
    describe: () => ({}) as never,
  });

describe('the position two sides agree on', () => {
  it('is 0 when either has no checkpoint', () => {
    expect(commonSeq(undefined, undefined)).toBe(0);
    expect(commonSeq(holding(session('a', 5)), undefined)).toBe(0);
    expect(commonSeq(undefined, holding(session('a', 5)))).toBe(0);
  });

  it('is that of an equal session', () => {
    expect(commonSeq(holding(session('a', 5)), holding(session('a', 5)))).toBe(5);
    expect(commonSeq(holding(session('a', '5-x')), holding(session('a', '5-x')))).toBe('5-x');
  });

  it('is that of the newest session both remember', () => {
    const source = holding(session('a', 5), session('b', 7), session('x', 9));
    const target = holding(session('a', 5), session('b', 7), session('y', 8));
    expect(commonSeq(source, target)).toBe(7);
    expect(commonSeq(holding(session('x', 9)), target)).toBe(0);
  });

  it('is the older of two positions within one session, whichever side was restored', () => {
    expect(commonSeq(holding(session('a', 5)), holding(session('a', 9)))).toBe(5);
    expect(commonSeq(holding(session('a', 9)), holding(session('a', 5)))).toBe(5);
    expect(commonSeq(holding(session('a', '9-x', 2)), holding(session('a', '5-y', 1)))).toBe('5-y');
    expect(commonSeq(holding(session('a', '5-y', 1)), holding(session('a', '9-x', 2)))).toBe('5-y');
  });

  it('goes back to an older session where opaque positions cannot be compared', () => {
    const source = holding(session('o', '3-o'), session('a', '9-x'));
    const target = holding(session('o', '3-o'), session('a', '5-y'));
    expect(commonSeq(source, target)).toBe('3-o');
    const counted = holding(session('o', '3-o'), session('a', '5-y', 1));
    expect(commonSeq(source, counted)).toBe('3-o');
    expect(commonSeq(counted, source)).toBe('3-o');
  });

  it('honours the old form, a bare last_seq on both sides', () => {
    expect(commonSeq({ last_seq: 4 }, { last_seq: 4 })).toBe(4);
    expect(commonSeq({ last_seq: 4 }, { last_seq: 5 })).toBe(0);
    expect(commonSeq({ last_seq: 4 }, holding(session('a', 4)))).toBe(0);
  });

  it('is not misled by documents that are no checkpoints', () => {
    const broken = [
      {},
      { version: 1 },
      { version: 1, history: 'no' },
      { version: 1, history: [null, 7, {}] },
    ];
    for (const one of broken as unknown as Checkpoint[]) {
      expect(commonSeq(one, one)).toBe(0);
      expect(commonSeq(holding(session('a', 1)), one)).toBe(0);
      expect(recorded(one, session('a', 1)).history).toEqual([session('a', 1)]);
    }
  });

  // Model: two sides that are written one after the other, may lose their last write, and may be restored to any earlier state.
  // Whatever happens, the position must be one that each side itself recorded, and no later than either side's own.
  it('is never beyond what both sides recorded', () => {
    const step = fc.record({
      kind: fc.constantFrom('both', 'source', 'target', 'restore source', 'restore target', 'session'),
      back: fc.nat(20),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.boolean(), (steps, opaque) => {
        const states = {
          source: [undefined as Checkpoint | undefined],
          target: [undefined as Checkpoint | undefined],
        };
        // What each side has really got, as a number.
        const reached = { source: [0], target: [0] };
        let name = 's0';
        let count = 0;
        let seq = 0;
        const write = (side: 'source' | 'target', one: Session): void => {
          states[side].push(recorded(states[side].at(-1), one));
          reached[side].push(seq);
        };
        for (const { kind, back } of steps) {
          if (kind === 'session') {
            name = `s${seq}-${steps.length}-${count}`;
            count = 0;
          } else if (kind.startsWith('restore')) {
            const side = kind.endsWith('source') ? 'source' : 'target';
            const keep = Math.max(1, states[side].length - back);
            states[side].length = keep;
            reached[side].length = keep;
            // A replication that begins after this is another session, as every attempt is.
            name = `s${seq}-${steps.length}-r${states.source.length}-${states.target.length}`;
            count = 0;
          } else {
            seq++;
            const one = session(name, opaque ? `${seq}-opaque` : seq, ++count);
            if (kind !== 'target') write('source', one);
            if (kind !== 'source') write('target', one);
          }
          const agreed = Number.parseInt(String(commonSeq(states.source.at(-1), states.target.at(-1))), 10);
          expect(agreed).toBeLessThanOrEqual(Math.min(reached.source.at(-1)!, reached.target.at(-1)!));
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('a source that refused its checkpoint once', () => {
  it('counts again when it has one: the target alone may remember what only a former source had', async () => {
    const { signal } = new AbortController();
    const target = { ...holding(session('a', 100)), source_refuses: true };
    const side = (checkpoint?: object) => ({
      get: async () => checkpoint ?? Promise.reject({ status: 404, name: 'not_found' }),
    });
    expect(await at(side(target), side()).resume(signal)).toBe(100);
    expect(await at(side(target), side(holding(session('b', 5)))).resume(signal)).toBe(0);
  });
});

describe('beginning somewhere', () => {
  it.each([
    [0, 0, true],
    [7, 0, true],
    [7, '0', true],
    [7, 7, true],
    [7, 5, true],
    [7, 9, false],
    ['7-x', '7-x', true],
    ['7-x', '5-x', false],
    ['7-x', 5, false],
    ['7', 5, false],
    [7, '5-x', false],
    [7, 'now', false],
  ])('after %o, at %o, leaves no gap: %o', (agreed, since, expected) => {
    expect(covers(agreed, since)).toBe(expected);
  });
});

describe('recording a checkpoint', () => {
  it('has the form that CouchDB and PouchDB know', () => {
    expect(recorded(holding(session('a', 1)), session('b', 2))).toEqual({
      session_id: 'b',
      last_seq: 2,
      history: [session('b', 2), session('a', 1)],
      version: 1,
      replicator: 'settledb',
    });
  });

  it('keeps one entry of each session, the newest, and a bounded number of them', () => {
    let checkpoint: Checkpoint | undefined;
    for (let i = 0; i < 200; i++) checkpoint = recorded(checkpoint, session(`s${i >> 1}`, i));
    const ids = checkpoint!.history!.map((one) => one.session_id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeLessThanOrEqual(50);
    expect(checkpoint!.history![0]).toEqual(session('s99', 199));
    expect(checkpoint!.history![1]).toEqual(session('s98', 197));
  });
});

describe('while a transfer goes on', () => {
  it('nothing is written down before anything was acknowledged', async () => {
    const put = vi.fn();
    const checkpoints = at({ get: async () => Promise.reject({ status: 404, name: 'not_found' }), put });
    const { signal } = new AbortController();
    await checkpoints.resume(signal);
    await checkpoints.flush(signal);
    expect(put).not.toHaveBeenCalled();
  });

  it('it is written down now and then, also after the clock was set back by hours', async () => {
    const written: unknown[] = [];
    let stored: object | undefined;
    const target = {
      get: async () => stored ?? Promise.reject({ status: 404, name: 'not_found' }),
      put: async (doc: { last_seq?: unknown }) => {
        written.push(doc.last_seq);
        stored = doc;
        return { ok: true, id: 'x', rev: `0-${written.length}` };
      },
    };
    const noted = at(target);
    const { signal } = new AbortController();
    let now = Date.now();
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now);
    onTestFinished(() => clock.mockRestore());
    await noted.resume(signal);
    let seq = 0;
    for (const passed of [0, 10, 2_000, -3 * 3_600_000, 10, 2_000, 5 * 3_600_000]) {
      now += passed;
      noted.note(++seq, signal);
      await vi.waitFor(() => expect(written.at(-1)).toBe(seq - (passed === 10 ? 1 : 0)));
    }
    expect(written).toEqual([1, 3, 4, 6, 7]);
  });

  it('it is written down once, also when that is asked for amid the write, and again by one of many if it failed', async () => {
    const written: unknown[] = [];
    const fail = (): Promise<never> => Promise.reject({ status: 500, name: 'oops' });
    const checkpoints = at({
      get: async () => Promise.reject({ status: 404, name: 'not_found' }),
      put: async ({ last_seq }: { last_seq?: unknown }) =>
        written.push(last_seq) === 2 ? fail() : { ok: true, id: 'x', rev: `0-${written.length}` },
    });
    const { signal } = new AbortController();
    await checkpoints.resume(signal);
    checkpoints.note(1, signal);
    await checkpoints.flush(signal);
    expect(written).toEqual([1]);
    checkpoints.note(2, signal);
    const flushed = [1, 2, 3].map(() => checkpoints.flush(signal));
    expect((await Promise.allSettled(flushed)).map(({ status }) => status)).toEqual([
      'rejected',
      'fulfilled',
      'fulfilled',
    ]);
    expect(written).toEqual([1, 2, 2]);
  });
});

describe('a checkpoint that another replication writes too', () => {
  const { signal } = new AbortController();

  it('is made anew where that removed it', async () => {
    let stored: { _rev: string } | undefined = { _rev: '0-5' };
    const checkpoints = at({
      get: async () => stored ?? Promise.reject({ status: 404, name: 'not_found' }),
      put: async (doc: { _rev?: string }) => {
        if (doc._rev !== stored?._rev) return Promise.reject({ status: 409, name: 'conflict' });
        stored = { ...doc, _rev: '0-6' };
        return { ok: true, id: 'x', rev: '0-6' };
      },
    });
    await checkpoints.resume(signal);
    stored = undefined;
    checkpoints.note(7, signal);
    await checkpoints.flush(signal);
    expect(stored).toMatchObject({ last_seq: 7, _rev: '0-6' });
    expect(checkpoints.behind).toBe(false);
  });

  it('is given up after some conflicts, and told', async () => {
    let tries = 0;
    const checkpoints = at({
      get: async () => ({ _rev: '0-1' }),
      put: async () => Promise.reject({ status: ++tries > 99 ? 500 : 409, name: 'conflict' }),
    });
    await checkpoints.resume(signal);
    checkpoints.note(7, signal);
    await expect(checkpoints.flush(signal)).rejects.toMatchObject({ status: 409 });
    expect(checkpoints.behind).toBe(true);
  });
});
