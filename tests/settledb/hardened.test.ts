/** A program that froze what the language brings (lockdown of SES, `node --frozen-intrinsics`), in a process of its own. */
import { execFileSync } from 'node:child_process';
import { expect, it, onTestFinished } from 'vitest';
import { bundledProgram } from '../support/bundled-program';

const PROGRAM = `
  import { SettleDB } from '../../packages/settledb/src/entry.node';
  for (const intrinsic of [Object, Array, Function, Promise, Map, Set, Error, TypeError, RegExp, Date, Uint8Array, (async function* () {}).constructor]) {
    for (let each = intrinsic.prototype; each !== null; each = Object.getPrototypeOf(each)) {
      Object.freeze(each);
      if (each.prototype) Object.freeze(each.prototype);
    }
    Object.freeze(intrinsic);
  }
  const db = new SettleDB('hardened', { adapter: 'memory' });
  const told = (error) => error.name + ' ' + error.status;
  const missing = await db.get('a').catch(told);
  await db.put({ _id: 'a', n: 1 });
  const conflict = await db.put({ _id: 'a' }).catch(told);
  await db.createIndex({ fields: ['n'] });
  const { docs } = await db.find({ selector: { n: 1 } });
  const copy = new SettleDB('copy', { adapter: 'memory' });
  const replication = db.replicate.to(copy);
  let phase;
  for await (const status of replication.statuses()) phase = status.phase;
  const { docs_written } = await replication;
  await db.close();
  const closed = await db.get('a').catch(told);
  console.log(JSON.stringify({ missing, conflict, found: docs.length, phase, docs_written, closed }));
`;

it('errors, and the statuses of replications, are made where the prototypes of errors and generators are frozen', () => {
  const program = bundledProgram(PROGRAM, import.meta.dirname);
  onTestFinished(program.remove);
  expect(JSON.parse(execFileSync(process.execPath, [program.path], { encoding: 'utf8' }))).toEqual({
    missing: 'not_found 404',
    conflict: 'conflict 409',
    found: 1,
    phase: 'complete',
    docs_written: 2,
    closed: 'closed 412',
  });
});
