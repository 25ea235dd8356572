/** A live result as a store for React, as docs/queries.md has it, and as people write it: by a function that each render makes anew. */
import { createElement, StrictMode, useMemo, useSyncExternalStore } from 'react';
import { createRoot } from 'react-dom/client';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.browser';

/** Far more than a page makes of a few changes, and far fewer than an endless loop makes within the time a test waits. */
const RENDERS_MAX = 30;

let count = 0;
const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

type Live = ReturnType<SettleDB<{ type: string }>['live']['find']>;

const ways: Record<string, (live: Live) => Live['current']> = {
  'by the method': (live) => useSyncExternalStore(live.subscribe, () => live.current),
  'by a function made anew': (live) =>
    useSyncExternalStore(
      (changed) => live.subscribe(changed),
      () => live.current,
    ),
};

describe.each(Object.entries(ways))('a list of React, subscribed %s', (_, useLive) => {
  it.each([false, true])('shows what there is and what comes, and rests (strict: %s)', async (strict) => {
    const db = new SettleDB<{ type: string }>(`react-${Date.now()}-${++count}`);
    await db.bulkDocs([
      { _id: 'a', type: 'x' },
      { _id: 'b', type: 'x' },
    ]);
    let renders = 0;
    const List = () => {
      renders++;
      const live = useMemo(() => db.live.find({ selector: { type: 'x' } }), []);
      const docs = useLive(live)?.docs ?? [];
      return createElement(
        'ul',
        null,
        docs.map(({ _id }) => createElement('li', { key: _id }, _id)),
      );
    };
    const place = document.body.appendChild(document.createElement('div'));
    const root = createRoot(place);
    undo.push(
      () => db.destroy(),
      () => place.remove(),
      () => root.unmount(),
    );
    const list = createElement(List);
    root.render(strict ? createElement(StrictMode, null, list) : list);
    await vi.waitFor(() => expect(place.textContent).toBe('ab'));
    await db.put({ _id: 'c', type: 'x' });
    await vi.waitFor(() => expect(place.textContent).toBe('abc'));
    const settled = renders;
    // Of another kind: the result is the same one.
    await db.put({ _id: 'd', type: 'y' });
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(renders).toBe(settled);
    expect(renders).toBeLessThan(RENDERS_MAX);
    expect(place.textContent).toBe('abc');
  });
});
