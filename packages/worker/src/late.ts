/**
 * So many parts make up the time for an answer: a page or worker that stood still (busy, frozen, in a debugger) finds its timer late with
 * the answer behind it, or finds a worker that could not start meanwhile. However long that was, it uses up one part.
 */
const PARTS = 4;

/** Calls `late` once, when the time is over. @returns calls it off */
export function after(ms: number, late: () => void): () => void {
  let left = PARTS;
  const end = (): void => clearInterval(timer);
  const timer = setInterval(() => {
    if (--left > 0) return;
    end();
    late();
  }, ms / PARTS);
  return end;
}
