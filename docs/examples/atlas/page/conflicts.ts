/** The versions of a document that lost, each with ways to settle it. */
import type { ExistingDoc, SettleDB } from 'settledb';
import { attempt, element } from './dom';
import { FIELDS, type Place } from './place';

/** @param onSettled called when one was settled */
export async function conflictCards(
  db: SettleDB<Place>,
  winner: ExistingDoc<Place>,
  onSettled: () => Promise<void>,
): Promise<HTMLElement[]> {
  const losing = winner._conflicts ?? [];
  const others = await Promise.all(losing.map((rev) => db.get(winner._id, { rev })));
  return others.map((other) => {
    const settle = (kept?: ExistingDoc<Place>): void =>
      void attempt(async () => {
        await settleBy(db, winner, other, kept);
        await onSettled();
      });
    return element(
      'li',
      {},
      element(
        'div',
        {},
        element('p', {}, 'In conflict: ', element('code', {}, other._rev.slice(0, 8))),
        ...differences(winner, other),
      ),
      element('button', { type: 'button', click: () => settle() }, 'Keep the winner'),
      element('button', { type: 'button', click: () => settle(other) }, 'Keep this one'),
    );
  });
}

/** Deletes the losing leaf; with `kept`, first writes its content on top of the branch that stays. */
async function settleBy(
  db: SettleDB<Place>,
  winner: ExistingDoc<Place>,
  losing: ExistingDoc<Place>,
  kept: ExistingDoc<Place> | undefined,
): Promise<void> {
  if (kept !== undefined) await db.put({ ...kept, _rev: winner._rev });
  await db.remove(losing._id, losing._rev);
}

/** The fields in which two versions differ: what the other says, and what the winner does. */
export function differences(winner: Place, other: Place): HTMLElement[] {
  return FIELDS.filter((field) => (winner[field] ?? '') !== (other[field] ?? '')).map((field) =>
    element(
      'p',
      { class: 'difference' },
      element('span', {}, field),
      ' ',
      element('ins', {}, String(other[field] ?? '—')),
      ' ',
      element('del', {}, String(winner[field] ?? '—')),
    ),
  );
}
