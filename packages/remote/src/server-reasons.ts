/**
 * What a client is told of the server's storage. The reasons of its errors name folders, files, bytes and processes of this machine, and
 * commands to run there: that is for whoever runs the server, and goes to its log.
 */

/** By the names of errors that a storage fails with. */
const TOLD: ReadonlyMap<string, string> = new Map([
  ['io', 'The storage failed'],
  ['corrupt', 'What is stored is damaged'],
  ['locked', 'Another program has the storage open'],
]);

/** Errors have causes, which have causes: more than these are not followed, as they may go round. */
const CAUSES_MAX = 8;

interface Fault {
  readonly name: string;
  readonly reason: string;
  readonly cause?: unknown;
}

/** Whether its reason says where on this machine something lies. The paths of databases are whole, so they have separators. */
export const isForTheLog = ({ name, reason }: Fault): boolean => TOLD.has(name) && /[/\\]/.test(reason);

/** Its reason, or what may be told in place of it, with the system's code. */
export function reasonForClients(error: Fault): string {
  if (!isForTheLog(error)) return error.reason;
  const code = systemCode(error);
  return `${TOLD.get(error.name)}${code === undefined ? '' : ` (${code})`}; the server's log says more`;
}

/** `ENOSPC`, `EIO`: says nothing of this machine. */
function systemCode(error: Fault): string | undefined {
  let below: unknown = error.cause;
  for (let causes = 0; causes < CAUSES_MAX && below instanceof Error; causes++) {
    const { code } = below as NodeJS.ErrnoException;
    if (typeof code === 'string' && /^E[A-Z0-9]+$/.test(code)) return code;
    below = below.cause;
  }
  return undefined;
}
