/** Multipart bodies of recordings and of our answers, in one form that can be compared. */
import type { Any } from './recorded';

export interface Part {
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Any;
  readonly bodyBase64?: string;
  readonly parts?: readonly Part[];
}

export const mediaType = (type: string | undefined): string | undefined => type?.split(';')[0]?.trim();

/** What matters of parts: types, and bodies as JSON or text. Other headers depend on how lengths are told. */
export function comparable(parts: readonly Part[]): Any[] {
  return parts.map(({ headers, body, bodyBase64, parts: inner }) => ({
    type: mediaType(
      Object.entries(headers).find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? undefined,
    ),
    ...(inner !== undefined
      ? { parts: comparable(inner) }
      : bodyBase64 !== undefined
        ? { body: Buffer.from(bodyBase64, 'base64').toString('latin1') }
        : { body }),
  }));
}

/** A multipart body taken apart, nested as it is; undefined when it is none. */
export function splitParts(bytes: Buffer, contentType: string | undefined): Part[] | undefined {
  const boundary = /boundary="?([^";]+)/.exec(contentType ?? '')?.[1];
  if (boundary === undefined) return undefined;
  const text = `\r\n${bytes.toString('latin1')}`;
  const pieces = text.split(`\r\n--${boundary}`).slice(1);
  if (!pieces.at(-1)?.startsWith('--')) return undefined;
  return pieces.slice(0, -1).map((piece) => {
    const end = piece.indexOf('\r\n\r\n');
    const headers = Object.fromEntries(
      piece
        .slice(0, end)
        .split('\r\n')
        .filter((line) => line.includes(':'))
        .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
    );
    const type = Object.entries(headers).find(([name]) => /^content-type$/i.test(name))?.[1];
    const body = Buffer.from(piece.slice(end + 4), 'latin1');
    const inner = type?.startsWith('multipart/') ? splitParts(body, type) : undefined;
    if (inner !== undefined) return { headers, parts: inner };
    if (type?.startsWith('application/json')) return { headers, body: parse(body.toString()) };
    return { headers, bodyBase64: body.toString('base64') };
  });
}

export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text === '' ? undefined : text;
  }
}
