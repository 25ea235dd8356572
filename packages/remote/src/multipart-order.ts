/**
 * The order of a document's attachments as its text has it, by which their parts follow. `JSON.parse` loses it for names that
 * look like numbers, which JavaScript puts in front of others.
 */

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]:]/g;

/** @param text of a JSON object, already parsed without error @returns the members of its `_attachments`, as written */
export function attachmentOrder(text: string): string[] {
  let names = new Set<string>();
  let member = '';
  let last = '';
  let depth = 0;
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === '{' || token === '[') depth++;
    else if (token === '}' || token === ']') depth--;
    else if (token !== ':') last = token;
    else if (depth === 1) {
      member = JSON.parse(last) as string;
      // Of members that stand twice the last one counts.
      if (member === '_attachments') names = new Set();
    } else if (depth === 2 && member === '_attachments') names.add(JSON.parse(last) as string);
  }
  return [...names];
}
