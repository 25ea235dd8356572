/** Requests byte for byte, as they go over a connection, and all that is answered to them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memory } from '@settledb/adapter-memory';
import { createServer, type RunningServer, type ServerOptions } from '../../packages/settledb/src/server';

/** @param after is given what undoes it, the last to be done first */
export async function startServer(
  after: (undo: () => Promise<void>) => void,
  options: Partial<ServerOptions> = {},
): Promise<RunningServer> {
  const dir = await mkdtemp(join(tmpdir(), 'settledb-roads-'));
  after(() => rm(dir, { recursive: true, force: true }));
  const server = await createServer({ dir, port: 0, anonymous: true, adapter: memory(), ...options });
  after(() => server.close());
  return server;
}

/** What is answered to these bytes until the server ends the connection. @param pieces each written by itself */
export function ask({ port }: RunningServer, ...pieces: readonly (string | Uint8Array)[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const answered: Buffer[] = [];
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, async () => {
      for (const piece of pieces) {
        socket.write(piece);
        // Long enough to be another read of the server's mostly; the answer is the same if not.
        if (pieces.length > 1) await new Promise((next) => setTimeout(next, 10));
      }
    });
    socket.on('data', (data) => answered.push(data as Buffer));
    socket.on('error', reject);
    socket.on('close', () => resolve(Buffer.concat(answered).toString('latin1')));
  });
}

interface Raw {
  readonly method?: string;
  readonly headers?: readonly string[];
  readonly host?: string;
  readonly body?: string | Uint8Array;
  readonly version?: string;
}

export function raw(
  target: string,
  { method = 'GET', headers = [], host = 'localhost', body, version = '1.1' }: Raw = {},
) {
  const lines = [
    `${method} ${target} HTTP/${version}`,
    ...(host === '' ? [] : [`Host: ${host}`]),
    ...headers,
  ];
  const length = body === undefined ? [] : [`Content-Length: ${Buffer.byteLength(body as string)}`];
  const head = `${[...lines, ...length, 'Connection: close'].join('\r\n')}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from((body ?? '') as string)]);
}

/** After which the connection stays. */
export function keep(target: string, body?: string, header = ''): Buffer {
  const head = `${body === undefined ? 'GET' : 'PUT'} ${target} HTTP/1.1\r\nHost: localhost\r\n${header}`;
  return Buffer.from(
    body === undefined ? `${head}\r\n` : `${head}Content-Length: ${body.length}\r\n\r\n${body}`,
  );
}
