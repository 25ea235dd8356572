/**
 * The order of a document's attachments in its text, which is the order of their parts. `JSON.parse` loses it for names that
 * look like numbers, which JavaScript puts first.
 */

/** @param text of a JSON object, already parsed without error @returns the members of its `_attachments`, as written */
export function attachmentOrder(text: string): string[] {
  let names = new Set<string>();
  let member = '';
  let last = '';
  let depth = 0;
  // Done by hand: a regular expression runs out of stack in texts of 16 MB, and makes an object of each of millions of brackets.
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') {
      const end = endOfText(text, at);
      if (depth <= 2) last = text.slice(at, end + 1);
      at = end;
    } else if (char === '{' || char === '[') depth++;
    else if (char === '}' || char === ']') depth--;
    else if (char === ':' && depth === 1) {
      member = JSON.parse(last) as string;
      // If a member stands twice, the last one counts.
      if (member === '_attachments') names = new Set();
    } else if (char === ':' && depth === 2 && member === '_attachments')
      names.add(JSON.parse(last) as string);
  }
  return [...names];
}

/** The position of the quote that ends the string which begins at `start`. */
export function endOfText(text: string, start: number): number {
  for (let end = start + 1; ; end++) {
    end = text.indexOf('"', end);
    if (end < 0) return text.length;
    let escapes = end;
    while (text[escapes - 1] === '\\') escapes--;
    if ((end - escapes) % 2 === 0) return end;
  }
}
