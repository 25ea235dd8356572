/**
 * What is said may be somebody else's words: a server's, or ids of documents. Control characters in them would be orders to the terminal, to
 * clear it, to retitle it, or to type. In JSON, where they stand only in texts, what replaces them means the same.
 */
const CONTROLS = /[\0-\x09\x0b-\x1f\x7f-\x9f]/g;

const printable = (text: string): string =>
  text.replace(CONTROLS, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

export const say = (text: string): void => console.log(printable(text));
export const complain = (words: string): void => console.error(`settledb: ${printable(words)}`);
