import { onTestFinished, vi } from 'vitest';

/**
 * Until the test is over no call takes time, by the clock. A store whose calls took 10 ms without a task between answers nothing at once,
 * so that others have their turn, and a busy machine may stand still for that long between any two of them. For who asks what is
 * answered at once.
 */
export function timeless(): void {
  const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now());
  onTestFinished(() => void clock.mockRestore());
}
