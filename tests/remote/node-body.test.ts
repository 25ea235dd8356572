/** A small body that came in pieces before its request was looked at: `read()` of Node 26 gives the first of them alone. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { PlainHosts, plainRequest } from '../../packages/remote/src/node-request';

it('is given whole, however many pieces it came in', () => {
  const pieces = ['{"a', '":1', '}'].map((piece) => Buffer.from(piece));
  const whole = Buffer.concat(pieces);
  const incoming = {
    method: 'PUT',
    url: '/db/a',
    headers: { host: '127.0.0.1', 'content-length': String(whole.length) },
    readableLength: whole.length,
    read: (length?: number) => (length === whole.length ? whole : pieces.shift()),
  };
  const request = plainRequest(
    incoming as unknown as IncomingMessage,
    {} as ServerResponse,
    new PlainHosts(),
  )!;
  expect(Buffer.from(request.atHand()!).toString()).toBe('{"a":1}');
});
