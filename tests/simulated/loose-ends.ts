/** What hosts and pages hold for each other, when nothing has happened for a while: nothing for those that are gone, or were left. */
import type { Browser } from './platform/browser';

/** @returns what should not be there */
export function looseEnds({ locks, channels, living }: Browser): string[] {
  const loose: string[] = [];
  const held = locks.query().held.map(({ name }) => name!);
  const count = (prefix: string): number => held.filter((name) => name.startsWith(prefix)).length;
  const workers = living.flatMap((tab) => tab.workers.filter(({ isDead }) => !isDead));
  const owners = count('settledb:owner:');
  if (owners !== Math.min(workers.length, 1)) loose.push(`${owners} of ${workers.length} workers are owners`);
  if (count('settledb:host:') > workers.length) loose.push('locks of hosts that are gone are held');
  const links = [...channels.open].filter(({ name }) => name.startsWith('settledb:link:'));
  const alone = links.filter(({ name }) => links.filter((link) => link.name === name).length !== 2);
  // A page that was put away and lost its channels keeps what it had asked for before, until it is put away again.
  const formerLives = count('settledb:page:') - living.length;
  if (alone.length > formerLives)
    loose.push(...alone.map(({ name, tab }) => `${tab.name} is alone on the channel ${name}`));
  return loose;
}
