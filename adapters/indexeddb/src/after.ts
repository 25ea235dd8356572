/**
 * Calls `work` after so many ms, if it is not stopped. A page that stood still (busy, frozen, in a debugger) finds its timer late and the
 * answer behind it: so the time is measured in two halves, of which a pause, however long, uses up only one.
 * @param timed is given each timer: `unref`, if a Node process may end meanwhile
 * @returns stops it
 */
export function after(ms: number, work: () => void, timed?: (timer: unknown) => void): () => void {
  let timer: ReturnType<typeof setTimeout>;
  const wait = (then: () => void): void => {
    timer = setTimeout(then, ms / 2);
    timed?.(timer);
  };
  wait(() => wait(work));
  return () => clearTimeout(timer);
}
