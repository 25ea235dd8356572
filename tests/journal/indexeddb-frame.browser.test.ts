/**
 * A page that the browser refuses IndexedDB goes on in a frame, as WebKit's pages have to when its storage process ends
 * (`tests/engines/lost.webkit.test.ts` ends it). Here each refusal is simulated, in whatever browser this runs.
 */
import { indexeddb } from '@settledb/adapter-indexeddb';
import { nextTask } from '@settledb/core';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { fill } from '../conformance/journal-bench';
import { FaultyIdb } from '../support/faulty-idb';
import { type Realm, refuse } from '../support/refused-idb';
import { events, newName, numbers } from './support';

const frames = (): HTMLIFrameElement[] => [...document.querySelectorAll('iframe')];

afterEach(() => vi.restoreAllMocks());

describe('indexeddb in a page to which it is refused', () => {
  it('goes on in a frame, and when that is refused too, in another', async () => {
    const idb = new FaultyIdb();
    const { journal } = await idb.open(newName());
    const heard = events(journal);
    let realm: Realm = window;
    for (let n = 1; n <= 4; n++) {
      await fill(journal, n, n);
      expect(frames()).toHaveLength(Math.min(n - 1, 2));
      refuse(realm);
      idb.terminate();
      // Several at once, as they are when a page is back from the background.
      const seen = await Promise.all([numbers(journal), numbers(journal)]);
      expect(seen.map((each) => each.length)).toEqual([n, n]);
      realm = frames().at(-1)!.contentWindow as Realm;
    }
    expect(heard).not.toContain('destroyed');
  });

  it('answers what is asked in a frame while that is refused to another database', async () => {
    refuse(window);
    const idb = new FaultyIdb();
    const { journal, adapter } = await idb.open(newName());
    await fill(journal, 1, 1);
    const realm = frames().at(-1)!.contentWindow as Realm;
    const asked = vi.spyOn(realm.IDBFactory.prototype, 'open');
    const opening = adapter.open(newName());
    while (asked.mock.calls.length === 0) await nextTask();
    refuse(realm);
    idb.terminate();
    expect(await numbers(journal)).toEqual([1]);
    const { IDBFactory } = frames().at(-1)!.contentWindow as Realm;
    const askedAgain = vi.spyOn(IDBFactory.prototype, 'open');
    await (await opening).close();
    expect(askedAgain).not.toHaveBeenCalled();
  });

  it('makes and destroys databases in a frame', async () => {
    refuse(window);
    const { journal, adapter } = await new FaultyIdb().open(newName());
    await fill(journal, 1, 2);
    const name = newName();
    await (await adapter.open(name)).close();
    const names = async (): Promise<unknown[]> =>
      (await indexedDB.databases()).map((database) => database.name);
    expect(await names()).toContain(`settledb:${name}`);
    await adapter.destroy(name);
    expect(await names()).not.toContain(`settledb:${name}`);
    await expect(adapter.open(name, { mustExist: true })).rejects.toMatchObject({ name: 'not_found' });
  });

  it("gives bytes that pass for the page's own", async () => {
    refuse(window);
    const { journal } = await new FaultyIdb().open(newName());
    await journal.blobs.put('place', [new Uint8Array([1, 2, 3])], 'relaxed');
    const bytes = await journal.blobs.get('place', 0);
    expect(bytes).toBeInstanceOf(Uint8Array);
    expect(bytes).toEqual(new Uint8Array([1, 2, 3]));
  });

  it('says what the page was told, if its frames may not store either', async () => {
    refuse(window);
    frames().at(-1)?.remove();
    const make = document.createElement.bind(document);
    const create = vi.spyOn(document, 'createElement').mockImplementation((name: string) => {
      const made = make(name);
      Object.defineProperty(made, 'contentWindow', { value: {} });
      return made;
    });
    const adapter = indexeddb();
    await expect(adapter.open(newName())).rejects.toMatchObject({
      name: 'io',
      reason: expect.stringContaining('server lost'),
    });
    create.mockRestore();
    const name = newName();
    await (await adapter.open(name)).close();
    await adapter.destroy(name);
  });

  it('makes another frame when an app removes it', async () => {
    refuse(window);
    const { journal } = await new FaultyIdb().open(newName());
    await fill(journal, 1, 2);
    frames().at(-1)!.remove();
    expect(await numbers(journal)).toEqual([1, 2]);
    expect(frames()).toHaveLength(1);
  });
});
