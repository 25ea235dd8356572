/** The command line as processes of their own, in a folder that is removed when the file's tests are over. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { expect, onTestFinished } from 'vitest';
import { home } from '../file/support';

export const scratch = home();
export const program = join(scratch, 'package/dist/cli.mjs');
mkdirSync(join(scratch, 'package/dist'), { recursive: true });
writeFileSync(join(scratch, 'package/package.json'), '{ "version": "1.2.3" }');
buildSync({
  entryPoints: [fileURLToPath(new URL('../../packages/settledb/src/cli.ts', import.meta.url))],
  outfile: program,
  bundle: true,
  platform: 'node',
  format: 'esm',
  ignoreAnnotations: true,
  logLevel: 'error',
});

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export function begun(
  args: readonly string[],
  password?: string,
): { child: ChildProcess; ended: Promise<Ended> } {
  const { SETTLEDB_PASSWORD: _, ...env } = process.env;
  const child = spawn(process.execPath, [program, ...args], {
    cwd: scratch,
    env: password === undefined ? env : { ...env, SETTLEDB_PASSWORD: password },
  });
  const ended = new Promise<Ended>((resolve) => {
    const [out, err]: Buffer[][] = [[], []];
    child.stdout.on('data', (data) => out!.push(data));
    child.stderr.on('data', (data) => err!.push(data));
    child.on('close', (code) =>
      resolve({ code, out: Buffer.concat(out!).toString(), err: Buffer.concat(err!).toString() }),
    );
  });
  return { child, ended };
}

/** Runs it to its end, with `input` on its standard input. */
export function settledb(
  args: string,
  { input = '', password }: { input?: string; password?: string } = {},
): Promise<Ended> {
  const { child, ended } = begun(args === '' ? [] : args.split(' '), password);
  child.stdin!.end(input);
  return ended;
}

export const answerOf = async (args: string, input?: string): Promise<Record<string, unknown>> => {
  const { code, out, err } = await settledb(args, input === undefined ? {} : { input });
  expect([code, err]).toEqual([0, '']);
  return JSON.parse(out);
};

export const DOCS = JSON.stringify({
  docs: [
    { _id: 'a', n: 1 },
    { _id: 'b', n: 2 },
  ],
});

/** @returns the URL of a server that lasts as long as the test */
export async function serving(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close().closeAllConnections());
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
