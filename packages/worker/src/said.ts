/** What a host sends to a page: a single text if all of it is plain JSON. */
import { isJsonError } from './errors';
import type { HostOp } from './wire';

/** What goes to the page: operations, some of which are text already. */
export type Out =
  | HostOp
  | readonly ['text', id: number, json: string]
  | readonly ['message', id: number, json: string];

/** Operations as JSON, if all of them are plain JSON. */
export function jsonOf(ops: readonly Out[]): string | undefined {
  const [first] = ops;
  if (first![0] === 'message' && ops.length === 1) return first![2];
  if (!ops.every(isText)) return undefined;
  if (ops.length === 1)
    return first![0] === 'text' ? `[["json",${first![1]},${first![2]}]]` : JSON.stringify(ops);
  const texts: string[] = [];
  for (let at = 0; at < ops.length; ) {
    const id = ops[at]![1] as number;
    const from = at;
    while (at < ops.length && ops[at]![1] === id + at - from && isValue(ops[at]!)) at++;
    if (at === from) texts.push(JSON.stringify(ops[at++]));
    else texts.push(`["jsons",${id},${valuesOf(ops, from, at)}]`);
  }
  return texts.length === 1 ? `[${texts[0]}]` : `[${texts.join()}]`;
}

const isText = (op: Out): boolean =>
  op[0] === 'text' || op[0] === 'json' || op[0] === 'rows' || (op[0] === 'no' && isJsonError(op[2]));

/** Whether it is only the answer of a call, which may stand in a list of answers. */
const isValue = (op: Out): boolean => op[0] === 'text' || (op[0] === 'json' && op[3] === undefined);

/** Texts are joined, everything else is made in one step. */
function valuesOf(ops: readonly Out[], from: number, to: number): string {
  const values: unknown[] = [];
  let hasTexts = false;
  for (let at = from; at < to; at++) {
    if (ops[at]![0] === 'text') hasTexts = true;
    values.push(ops[at]![2]);
  }
  if (!hasTexts) return JSON.stringify(values);
  const texts = values.map((value, at) =>
    ops[from + at]![0] === 'text' ? value : (JSON.stringify(value) ?? 'null'),
  );
  return `[${texts.join()}]`;
}

/** Parses what is text already, to go with operations that are not. */
export function parsed(op: Out): readonly HostOp[] {
  if (op[0] === 'message') return JSON.parse(op[2]);
  return [op[0] === 'text' ? ['json', op[1], JSON.parse(op[2])] : op];
}
