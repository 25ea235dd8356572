/** What is said of an option of the server that makes no sense: which one it is, what it must be, and what it is. */

/**
 * Checks an option that may be absent.
 *
 * @param what it must be, in words
 * @throws TypeError that names the option, unless it is absent or right
 */
export function checkOption(
  name: string,
  value: unknown,
  isRight: (value: unknown) => boolean,
  what: string,
): void {
  if (value !== undefined && !isRight(value))
    throw new TypeError(`${name} must be ${what}, not ${JSON.stringify(value)}`);
}

/** As {@link checkOption}, for numbers of things of which there must be one. */
export const checkWhole = (name: string, value: unknown): void =>
  checkOption(name, value, (given) => isWhole(given) && given > 0, 'a whole number from 1');

export const isWhole = (value: unknown): value is number => Number.isSafeInteger(value);
