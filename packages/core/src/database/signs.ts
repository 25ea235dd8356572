/**
 * Signs of life: bytes of an answer, told to whoever gave the call its signal. A transfer of one large attachment over a slow line is
 * then told from one whose connection is dead.
 */

const listeners = new WeakMap<AbortSignal, () => void>();

/** Calls `hear` whenever something is heard of a call with this signal. One listener for each signal. */
export function onSigns(signal: AbortSignal, hear: () => void): void {
  listeners.set(signal, hear);
}

export function tellSign(signal: AbortSignal | null | undefined): void {
  if (signal != null) listeners.get(signal)?.();
}
