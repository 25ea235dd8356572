/** `work` with each call begun when the one before has ended: of two at once, the later would do the same again. */
export function oneByOne<Args extends unknown[], Answer>(
  work: (...args: Args) => Promise<Answer>,
): (...args: Args) => Promise<Answer> {
  let last: Promise<unknown> = Promise.resolve();
  return (...args) => {
    const next = last.then(() => work(...args));
    last = next.catch(() => {});
    return next;
  };
}
