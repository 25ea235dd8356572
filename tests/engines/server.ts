/** Serves one page and its scripts, and hears what the pages say. Its origin stays while browsers come and go. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { bundle } from '../support/page-bundle';
import type { Task } from './killed-program';

export interface Server {
  address(task: Task): string;
  /** Answers those who have told what they found. */
  begin(): void;
  close(): void;
}

export async function serve(
  entry: URL,
  scripts: Readonly<Record<string, URL>>,
  heard: (path: string, tab: string, body: unknown) => void,
): Promise<Server> {
  const texts = new Map([['/entry.js', await bundle(entry)]]);
  for (const [path, script] of Object.entries(scripts)) texts.set(path, await bundle(script));
  const waiting: (() => void)[] = [];
  const server = createServer(async (request, response) => {
    const [path = '/'] = (request.url ?? '').split('?');
    if (request.method === 'POST') {
      const said = await text(request).catch(() => undefined);
      if (said === undefined) return; // what was sent ended with its process
      const { tab, body } = JSON.parse(said);
      heard(path, tab, body);
      if (path === '/found') waiting.push(() => response.end('{}'));
      else response.end('{}');
      return;
    }
    const script = texts.get(path);
    response.setHeader('content-type', `text/${script === undefined ? 'html' : 'javascript'}; charset=utf-8`);
    response.end(
      script ?? '<!doctype html><title>settledb</title><script type="module" src="/entry.js"></script>',
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    address: (task) => `http://127.0.0.1:${port}/?${encodeURIComponent(JSON.stringify(task))}`,
    begin: () => {
      for (const answer of waiting.splice(0)) answer();
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
