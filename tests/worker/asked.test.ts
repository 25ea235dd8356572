/** What a page asks crosses as one text, in which like calls with consecutive ids stand together: the host must read each as it was. */
import { expect, it } from 'vitest';
import { textOf } from '../../packages/worker/src/asked';
import type { ClientOp } from '../../packages/worker/src/wire';
import { numbers } from '../dump/content';

/** As a session takes them. */
const read = (text: string): readonly unknown[][] =>
  (JSON.parse(text) as ClientOp[]).flatMap((op) => {
    if (op[0] !== 'calls') return [[...op]];
    const [, id, handle, verb, all] = op;
    return all.map((args, at) => ['call', id + at, handle, verb, { args }]);
  });

it('calls of any ids, handles and verbs, some with documents', () => {
  const below = numbers(47);
  for (let round = 0; round < 300; round++) {
    let id = 0;
    const calls = Array.from({ length: 1 + below(6) }, () => {
      // An id is left out where a call was given up.
      id += below(4) === 0 ? 2 : 1;
      const verb = below(3) === 0 ? 'remove' : 'get';
      const json = below(4) === 0 ? '{"_id":"a"}' : undefined;
      return { id, handle: below(5) === 0 ? 2 : 1, verb, args: [`doc ${id}`], json };
    });
    const ops = calls.map((call): ClientOp => {
      const { args, json } = call;
      return ['call', call.id, call.handle, call.verb, json === undefined ? { args } : { args, json }];
    });
    const expected = calls.map(({ id, handle, verb, args, json }) => [
      'call',
      id,
      handle,
      verb,
      json === undefined ? { args } : { args, doc: JSON.parse(json) },
    ]);
    expect(read(textOf(ops)!)).toEqual(expected);
  }
});
