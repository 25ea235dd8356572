/** The demo's server, as `npm start` runs it, in a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('../../docs/examples/atlas/start.mjs', import.meta.url));

export interface AtlasServer {
  readonly process: ChildProcess;
  /** Without a slash at its end. */
  readonly url: string;
}

/** @param port 0 for a free one. Resolves with the URL it prints */
export function startServer(dir: string, port = 0): Promise<AtlasServer> {
  const child = spawn(process.execPath, [script, '--dir', dir, '--port', String(port)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return new Promise((resolve, reject) => {
    let output = '';
    const read = (chunk: Buffer): void => {
      output += chunk;
      const url = /http:\/\/[\w.]+:\d+(?=\/\s)/.exec(output)?.[0];
      if (url !== undefined) resolve({ process: child, url });
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}:\n${output}`)));
  });
}

export function stopServer(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGTERM');
  });
}
