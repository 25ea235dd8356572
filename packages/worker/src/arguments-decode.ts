/** Decodes the arguments of a call at the host: see `arguments.ts` for how they are encoded. */
import { badRequest, evaluate } from '@settledb/core';
import { docsIn } from './documents';
import type { Crossing, DocTexts, Patch } from './wire';

/** What decoding needs to know of the host. */
interface Decoding {
  readonly functions: Readonly<Record<string, unknown>>;
  handle(number: number): unknown;
  /** The signal of the call. */
  signal(): AbortSignal;
  /** Whether documents may be passed as they were taken apart in the page. */
  readonly apart: boolean;
}

/** @param lists the documents that were sent ahead */
export function decodeArguments(
  crossing: Crossing,
  lists: readonly DocTexts[],
  decoding: Decoding,
): unknown[] {
  const args = [...crossing.args];
  if (crossing.doc !== undefined) args[0] = crossing.doc;
  if (crossing.json !== undefined) args[0] = JSON.parse(crossing.json);
  if (crossing.parts !== undefined) {
    const docs = lists.flatMap((texts) => docsIn(texts, decoding.apart));
    if (crossing.parts === '') args[0] = docs;
    else (args[0] as Record<string, unknown>)[crossing.parts] = docs;
  }
  for (const patch of crossing.patches ?? []) {
    const [path] = patch;
    let place = args as unknown as Record<string | number, unknown>;
    for (const key of path.slice(0, -1)) place = place[key] as typeof place;
    const value = patched(patch, decoding);
    Object.defineProperty(place, path.at(-1)!, {
      value,
      configurable: true,
      enumerable: true,
      writable: true,
    });
  }
  return args;
}

function patched(patch: Patch, { functions, handle, signal }: Decoding): unknown {
  switch (patch[1]) {
    case 'signal':
      return signal();
    case 'handle':
      return handle(patch[2]);
    case 'named':
      if (Object.hasOwn(functions, patch[2])) return functions[patch[2]];
      throw badRequest(`The host was given no function '${patch[2]}'`);
    case 'source':
      return functionOf(patch[2]);
  }
}

/** The function of a text; it may also be written as a method. */
function functionOf(source: string): unknown {
  try {
    return evaluate(source)();
  } catch (error) {
    try {
      return evaluate(`Object.values({ ${source} })[0]`)();
    } catch {
      throw error;
    }
  }
}
