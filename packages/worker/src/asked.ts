/** What a page sends to its host: a single text if all of it is calls that JSON can carry. */
import type { Encoded } from './arguments';
import type { ClientOp, Crossing } from './wire';

/** Operations as JSON, if all are calls that it can carry; documents in them were encoded before. */
export function textOf(ops: readonly ClientOp[]): string | undefined {
  const texts: string[] = [];
  for (let at = 0; at < ops.length; ) {
    const op = ops[at]!;
    if (op[0] !== 'call' || !isText(op[4])) return undefined;
    const [, id, handle, verb, { args, json }] = op;
    if (json !== undefined) {
      const head = `${id},${handle},${JSON.stringify(verb)}`;
      texts.push(`["call",${head},{"args":${JSON.stringify(args)},"doc":${json}}]`);
      at++;
      continue;
    }
    const run = [args];
    for (let next = ops[++at]; isNext(next, op, run.length); next = ops[++at]) run.push(next[4].args);
    texts.push(JSON.stringify(['calls', id, handle, verb, run] satisfies ClientOp));
  }
  return `[${texts.join()}]`;
}

export type CallOp = ClientOp & { 0: 'call' };

/** Whether it is like `first`, with an id higher by `later`. */
const isNext = (op: ClientOp | undefined, first: CallOp, later: number): op is CallOp =>
  op?.[0] === 'call' &&
  op[1] === first[1] + later &&
  op[2] === first[2] &&
  op[3] === first[3] &&
  op[4].json === undefined &&
  isText(op[4]);

export const crossingOf = ({ args, json, parts, patches }: Encoded): Crossing =>
  json === undefined && parts === undefined && patches === undefined
    ? { args }
    : { args, json, parts, patches };

/** The place of its document is empty. */
const isText = ({ args, json, parts, patches }: Crossing): boolean =>
  patches === undefined &&
  parts === undefined &&
  args.every((arg, at) => isJson(arg) || (at === 0 && json !== undefined));

/** Numbers are seldom among arguments, so those that JSON has are not told from those it lacks. */
const isJson = (value: unknown): boolean => typeof value === 'string' || typeof value === 'boolean';
