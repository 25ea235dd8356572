/** `settledb recover`. */
import { type Recovered, type RecoverTarget, recover } from '../recover';
import type { SettleDB } from '../settledb';
import { checkFolder, made } from './open';
import { unlessAsked } from './until-asked';

export async function recovery(folder: string, name: string): Promise<Recovered> {
  checkFolder(folder);
  // Made once the folder was read, and while that is locked: it may be the same, and an opening to write may cut off its end.
  let to: SettleDB | undefined;
  let isBegun = false;
  const target: RecoverTarget = {
    info() {
      to ??= made(name);
      return to.info();
    },
    bulkDocs(...given) {
      isBegun = true;
      return to!.bulkDocs(...given); // after `info`
    },
  };
  try {
    return await unlessAsked((signal) => recover(folder, target, { signal }));
  } catch (error) {
    if (isBegun) console.error(`settledb: ${name} has only a part of it: remove it before you try again`);
    throw error;
  } finally {
    await to?.close();
  }
}
