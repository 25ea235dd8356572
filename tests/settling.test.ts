/**
 * What docs/conflicts.md says of settling, by its own code: replicas that edit apart and each settle what they see come to one version
 * without conflicts, and nothing that was merged is lost. One of them may be a PouchDB.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SettleDB } from '../packages/settledb/src/entry.node';
import { Random } from './replication/random';
import { importUntyped } from './support/express-pouchdb';

interface Note {
  text: string;
  edited?: string;
  tags?: string[];
  done?: boolean;
}
type Merge = (versions: readonly Note[]) => Note;
interface Guide {
  settle(db: SettleDB<Note>, id: string, merge: Merge): Promise<void>;
  newest: Merge;
  byField: Merge;
  base(db: SettleDB<Note>, id: string, a: string, b: string): Promise<Note | undefined>;
}

const guide: Guide = await (async () => {
  const blocks = [...readFileSync('docs/conflicts.md', 'utf8').matchAll(/^```ts\n(.*?)^```$/gms)].map(
    ([, code]) => code!,
  );
  const defining = blocks.filter((code) => /function (settle|byField|base)\b|const newest/.test(code));
  const source = `${defining.join('\n')}\nexport { settle, newest, byField, base };`;
  const { outputText } = ts.transpileModule(source, { compilerOptions: { target: ts.ScriptTarget.ES2022 } });
  return import(`data:text/javascript,${encodeURIComponent(outputText)}`);
})();

const IDS = ['a', 'b'];
let count = 0;
const open = (): SettleDB<Note> => new SettleDB<Note>(`settling ${count++}`, { adapter: 'memory' });

/** Whatever it finds. @returns whether there was something */
async function settleAll(db: SettleDB<Note>, merge: Merge): Promise<boolean> {
  let found = false;
  for (const id of IDS) {
    const doc = await db.get(id, { conflicts: true }).catch(() => undefined);
    if (doc?._conflicts === undefined) continue;
    found = true;
    await guide.settle(db, id, merge);
  }
  return found;
}

/** An edit of what is there, with a tag that no other has. @returns the tag */
async function edit(db: SettleDB<Note>, random: Random, at: number): Promise<{ id: string; tag: string }> {
  const id = random.pick(IDS);
  const tag = `t${at}`;
  const old = await db.get(id).catch(() => undefined);
  const tags = [...(old?.tags ?? []), tag];
  await db.put({ ...old, _id: id, text: `text ${at}`, edited: `${1000 + random.below(5)}`, tags });
  return { id, tag };
}

describe('documents that are settled as the guide says', () => {
  it.each([
    ['three replicas', false],
    ['two, and a PouchDB', true],
  ] as const)('come to rest, with all that was merged: %s', async (_, hasPouch) => {
    const folder = mkdtempSync(join(tmpdir(), 'settledb-settling-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const PouchDB = hasPouch ? await importUntyped('pouchdb') : undefined;
    for (let seed = 1; seed <= (hasPouch ? 6 : 25); seed++) {
      const random = new Random(seed);
      // PouchDB answers what the guide asks for as we do.
      const other = (hasPouch ? new PouchDB(join(folder, `${seed}`)) : open()) as SettleDB<Note>;
      const own = [open(), open()];
      const all = [...own, other];
      const meet = (): Promise<unknown> => {
        const one = random.pick(own);
        const next = random.pick(all.filter((each) => each !== one));
        return one.sync(next);
      };
      const made = new Map<string, string[]>(IDS.map((id) => [id, []]));
      for (let at = 0; at < 30; at++) {
        const chance = random.next();
        const db = random.pick(all);
        if (chance < 0.5) {
          const { id, tag } = await edit(db, random, at);
          made.get(id)!.push(tag);
        } else if (chance < 0.75) await meet();
        else await settleAll(db, guide.byField);
      }
      // Nobody edits any more.
      let rounds = 0;
      for (let quiet = false; !quiet; rounds++) {
        expect(rounds, `seed ${seed} does not come to rest`).toBeLessThan(12);
        quiet = true;
        for (const db of [other, own[1]!, other]) await own[0]!.sync(db);
        for (const db of all) if (await settleAll(db, guide.byField)) quiet = false;
      }
      for (const id of IDS) {
        const tags = made.get(id)!;
        if (tags.length === 0) continue;
        const docs = await Promise.all(all.map((db) => db.get(id, { conflicts: true })));
        expect([seed, docs[1], docs[2]]).toEqual([seed, docs[0], docs[0]]);
        expect([seed, [...docs[0]!.tags!].sort()]).toEqual([seed, [...tags].sort()]);
      }
      for (const db of all) await db.destroy();
    }
  });

  it('are one revision where devices settle the same conflict apart', async () => {
    const [a, b] = [open(), open()];
    await a.put({ _id: 'a', text: 'here', tags: ['x'] });
    await b.put({ _id: 'a', text: 'there', tags: ['y'] });
    await a.sync(b);
    for (const db of [a, b]) await guide.settle(db, 'a', guide.byField);
    await a.sync(b);
    const doc = await a.get('a', { conflicts: true });
    expect(await b.get('a', { conflicts: true })).toEqual(doc);
    expect(doc).toMatchObject({ tags: ['x', 'y'] });
    expect(doc).not.toHaveProperty('_conflicts');
  });

  it('keep what an edit made amid it, and the attachments that are taken over', async () => {
    const [a, b] = [open(), open()];
    const file = (data: string) => ({
      _attachments: { [data]: { content_type: 'text/plain', data: btoa(data) } },
    });
    await a.put({ _id: 'a', text: 'here', ...file('one') });
    await b.put({ _id: 'a', text: 'there', ...file('two') });
    await a.sync(b);
    const amid = await a.get('a');
    let edits = 0;
    const merge: Merge = (versions) => {
      const files = versions.map((each) => (each as { _attachments?: object })._attachments);
      return { ...versions[0]!, ...{ _attachments: Object.assign({}, ...files.reverse()) } };
    };
    const put = a.put.bind(a);
    a.put = (async (doc: never) => {
      if (edits++ === 0) await put({ ...amid, text: 'amid' });
      return put(doc);
    }) as typeof a.put;
    await expect(guide.settle(a, 'a', merge)).rejects.toMatchObject({ status: 409 });
    expect(await a.get('a', { conflicts: true })).toMatchObject({ text: 'amid', _conflicts: { length: 1 } });
    await guide.settle(a, 'a', merge);
    const doc = await a.get('a', { conflicts: true, attachments: true });
    expect(doc).toMatchObject({
      text: 'amid',
      _attachments: { one: { data: btoa('one') }, two: { data: btoa('two') } },
    });
    expect(doc).not.toHaveProperty('_conflicts');
  });

  it('know what two versions were made from, as long as it is not forgotten', async () => {
    const [a, b] = [open(), open()];
    const { rev } = await a.put({ _id: 'a', text: 'before' });
    await a.sync(b);
    await a.put({ _id: 'a', _rev: rev, text: 'here' });
    await b.put({ _id: 'a', _rev: rev, text: 'there' });
    await a.sync(b);
    const { _rev, _conflicts = [] } = await a.get('a', { conflicts: true });
    expect(await guide.base(a, 'a', _rev, _conflicts[0]!)).toMatchObject({ _rev: rev, text: 'before' });
    await a.compact();
    expect(await guide.base(a, 'a', _rev, _conflicts[0]!)).toBeUndefined();
  });
});
