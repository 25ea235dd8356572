/** Turns what came from the host into what it was there. */
import { decodeError } from './errors';

export const itemsOf = (items: readonly unknown[] | string): readonly unknown[] =>
  typeof items === 'string' ? JSON.parse(items) : items;

/** A replication's status, with the error it waits for. */
export function withError(at: unknown): unknown {
  const { error } = (at ?? {}) as { error?: unknown };
  return error === undefined ? at : { ...(at as object), error: presented(error) };
}

/** Makes the errors that events pass. */
export function presented(value: unknown): unknown {
  const { settledbError } = (value ?? {}) as { settledbError?: Parameters<typeof decodeError>[0] };
  return settledbError === undefined ? value : decodeError(settledbError);
}
