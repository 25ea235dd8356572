/** One document that is edited again and again, as a counter, settings or a note that is saved while it is written: its history grows. */
import type { RoundSetting, SuiteContender, Time } from './suite';

/** A database of which PouchDB's API is asked. */
export interface Edited {
  put(doc: object): Promise<{ readonly rev: string }>;
  destroy(): Promise<unknown>;
}

/** Edits of one timing: the first so many, and the last. */
const TIMED = 200;

export const historyUnits: Record<string, string> = {
  'first edits': `${TIMED} edits of a new document, awaited one by one`,
  'last edits': `the last ${TIMED} of all edits`,
};

export const historyContender = (name: string, open: (name: string) => Edited): SuiteContender => ({
  name,
  round: async (time: Time, { documents, database }: RoundSetting) => {
    const db = open(database);
    let _rev: string | undefined;
    let n = 0;
    const edit = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i++) {
        const doc = { _id: 'note', text: 'settle offline first document database '.repeat(6), n: n++ };
        ({ rev: _rev } = await db.put(_rev === undefined ? doc : { ...doc, _rev }));
      }
    };
    await time('first edits', () => edit(TIMED));
    await edit(documents - 2 * TIMED);
    await time('last edits', () => edit(TIMED));
    await db.destroy();
  },
});
