/** A server of more databases than it keeps open, over sockets and files: nobody who uses one is cut off, and nothing written is lost. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { file } from '@settledb/adapter-file';
import { memory } from '@settledb/adapter-memory';
import type { Adapter, Journal } from '@settledb/engine';
import { remote } from '@settledb/remote';
import { afterEach, describe, expect, it } from 'vitest';
import { createServer, type RunningServer, type ServerOptions } from '../../packages/settledb/src/server';
import { Random, trials } from '../replication/random';

const cleanUp: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const undo of cleanUp.splice(0).reverse()) await undo();
});

/** Files, of which it is known which databases are open. */
class WatchedFiles {
  readonly open = new Map<string, number>();
  openings = 0;
  readonly adapter: Adapter;

  constructor() {
    const files = file();
    this.adapter = {
      ...files,
      open: async (path, options) => {
        const journal = await files.open(path, options);
        this.openings++;
        this.#count(path, 1);
        return this.#watch(path, journal);
      },
    };
  }

  #watch(path: string, journal: Journal): Journal {
    const close = journal.close.bind(journal);
    let closing: Promise<void> | undefined;
    journal.close = () => {
      closing ??= close().finally(() => this.#count(path, -1));
      return closing;
    };
    return journal;
  }

  #count(path: string, by: number): void {
    const count = (this.open.get(path) ?? 0) + by;
    expect(count, `${path} is open once at most`).toBeLessThan(2);
    if (count === 0) this.open.delete(path);
    else this.open.set(path, count);
  }

  /** Names of databases that are open. */
  get names(): string[] {
    return [...this.open.keys()].map((path) => path.slice(path.lastIndexOf('/') + 1)).sort();
  }
}

interface ManyServer extends RunningServer {
  readonly files: WatchedFiles;
  ask(method: string, path: string, body?: unknown): Promise<Response>;
}

async function start(options: Partial<ServerOptions> = {}): Promise<ManyServer> {
  const dir = await mkdtemp(join(tmpdir(), 'settledb-many-'));
  cleanUp.push(() => rm(dir, { recursive: true, force: true }));
  const files = new WatchedFiles();
  const server = await createServer({ dir, port: 0, anonymous: true, adapter: files.adapter, ...options });
  cleanUp.push(() => server.close());
  const ask = (method: string, path: string, body?: unknown) =>
    fetch(`${server.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  return { ...server, files, ask };
}

async function withDatabases(count: number, options: Partial<ServerOptions>): Promise<ManyServer> {
  const server = await start(options);
  for (let i = 0; i < count; i++) expect((await server.ask('PUT', `/db${i}`)).status).toBe(201);
  return server;
}

/** Uses every database but `but`, so that all that are idle have been closed for others. */
async function useOthers(server: ManyServer, count: number, ...but: string[]): Promise<void> {
  for (let i = 0; i < count; i++)
    if (!but.includes(`db${i}`)) expect((await server.ask('GET', `/db${i}`)).status).toBe(200);
}

describe('of many databases', () => {
  it('those used last stay open, and all answer', async () => {
    const server = await withDatabases(8, { max_dbs_open: 3 });
    expect(server.files.names).toEqual(['db5', 'db6', 'db7']);
    for (let i = 0; i < 8; i++) await server.ask('PUT', `/db${i}/doc`, { i });
    for (let i = 0; i < 8; i++)
      expect(await (await server.ask('GET', `/db${i}/doc`)).json()).toMatchObject({ i });
    expect(server.files.names).toEqual(['db5', 'db6', 'db7']);
    const { openings } = server.files;
    for (let i = 0; i < 9; i++) await server.ask('GET', `/db${5 + (i % 3)}/doc`);
    expect(server.files.openings).toBe(openings);
    // All of them at once, and what is not there.
    const asked = [...Array(8).keys()].map((i) => `/db${i}`);
    const infos = (await (await server.ask('GET', '/_dbs_info')).json()) as { key: string; info: object }[];
    expect(infos.map(({ key, info }) => [key, 'doc_count' in info])).toEqual(
      asked.map((path) => [path.slice(1), true]),
    );
    const all = [...asked, ...asked, '/none'].map(async (path) => (await server.ask('GET', path)).status);
    expect(await Promise.all(all)).toEqual([...Array(16).fill(200), 404]);
    await expect.poll(() => server.files.names.length).toBe(3);
  });

  it('limits, views and who may in are those of each, however often it was closed', async () => {
    const server = await withDatabases(4, { max_dbs_open: 1, runStoredFunctions: true });
    await server.ask('PUT', '/db0/_revs_limit', 7);
    await server.ask('PUT', '/db0/_design/d', { views: { v: { map: 'doc => emit(doc.n)' } } });
    await server.ask('POST', '/db0/_bulk_docs', { docs: [{ n: 1 }, { n: 2 }] });
    for (let round = 0; round < 3; round++) {
      const view = (await (await server.ask('GET', '/db0/_design/d/_view/v')).json()) as object;
      expect(view).toMatchObject({ total_rows: 2 });
      await useOthers(server, 4, 'db0');
      expect(await (await server.ask('GET', '/db0/_revs_limit')).json()).toBe(7);
    }
    const found = await server.ask('POST', '/db0/_find', { selector: { n: 2 } });
    expect(((await found.json()) as { docs: object[] }).docs).toHaveLength(1);
    await expect.poll(() => server.files.names.length).toBe(1);
  });

  it('those that an adapter keeps elsewhere are listed, and opened again, as those in folders are', async () => {
    const server = await withDatabases(4, { max_dbs_open: 1, adapter: memory() });
    const listed = async () => (await server.ask('GET', '/_all_dbs')).json();
    const status = async (method: string, path: string) => (await server.ask(method, path)).status;
    for (let i = 0; i < 4; i++) await server.ask('PUT', `/db${i}/doc`, { i });
    for (let i = 0; i < 4; i++)
      expect(await (await server.ask('GET', `/db${i}/doc`)).json()).toMatchObject({ i });
    expect(await status('PUT', '/db0')).toBe(412);
    expect(await listed()).toEqual(['db0', 'db1', 'db2', 'db3']);
    expect(await status('DELETE', '/db1')).toBe(200);
    expect(await status('GET', '/db1')).toBe(404);
    expect(await listed()).toEqual(['db0', 'db2', 'db3']);
  });
});

describe('is kept open', () => {
  it('a database with a live feed, until the client has gone', async () => {
    const server = await withDatabases(5, { max_dbs_open: 2 });
    const leaving = new AbortController();
    const init = { signal: leaving.signal };
    const response = await fetch(`${server.url}/db0/_changes?feed=continuous&heartbeat=60000`, init);
    const lines = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    expect((await lines.read()).value).toBe('\n');
    for (let i = 0; i < 3; i++) {
      await useOthers(server, 5, 'db0');
      expect(server.files.names).toContain('db0');
      await server.ask('PUT', `/db0/d${i}`, {});
      expect(JSON.parse((await lines.read()).value!)).toMatchObject({ id: `d${i}` });
    }
    leaving.abort();
    await expect
      .poll(async () => {
        await useOthers(server, 5, 'db0');
        return server.files.names;
      })
      .not.toContain('db0');
  });

  it('a database of which an attachment is still read, however slowly', async () => {
    const server = await withDatabases(5, { max_dbs_open: 2 });
    const bytes = new Uint8Array(20_000_000).map((_, i) => i * (i >> 8));
    await fetch(`${server.url}/db0/doc/f`, { method: 'PUT', body: bytes });
    // Waits for its client: more than what lies in the buffers of the sockets is left to be read.
    const response = await fetch(`${server.url}/db0/doc/f`);
    const reader = response.body!.getReader();
    const first = await reader.read();
    await useOthers(server, 5, 'db0');
    expect(server.files.names).toContain('db0');
    let length = first.value!.length;
    for (let { value, done } = await reader.read(); !done; { value, done } = await reader.read()) {
      expect(value!.every((byte, i) => byte === bytes[length + i])).toBe(true);
      length += value!.length;
    }
    expect(length).toBe(bytes.length);
    await useOthers(server, 5, 'db0');
    await expect.poll(() => server.files.names).not.toContain('db0');
  });

  it('a database to which an attachment is still written', async () => {
    const server = await withDatabases(5, { max_dbs_open: 2 });
    let go!: () => void;
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        controller.enqueue(new Uint8Array(200_000).fill(1));
        await gate;
        controller.enqueue(new Uint8Array(5).fill(2));
        controller.close();
      },
    });
    const init = { method: 'PUT', body, duplex: 'half' } as RequestInit;
    const putting = fetch(`${server.url}/db0/doc/f`, init);
    await useOthers(server, 5, 'db0');
    await expect.poll(() => server.files.names).toContain('db0');
    await useOthers(server, 5, 'db0');
    go();
    expect((await putting).status).toBe(201);
    const got = await fetch(`${server.url}/db0/doc/f`);
    expect((await got.arrayBuffer()).byteLength).toBe(200_005);
  });

  it('both databases of a replication of the server, until it is cancelled', async () => {
    const server = await withDatabases(6, { max_dbs_open: 1, replicate: { hosts: [] } });
    const request = { source: 'db0', target: 'db1', continuous: true };
    expect((await server.ask('POST', '/_replicate', request)).status).toBe(202);
    for (let i = 0; i < 3; i++) {
      await server.ask('PUT', `/db0/d${i}`, { i });
      await useOthers(server, 6, 'db0', 'db1');
      await expect.poll(async () => (await server.ask('GET', `/db1/d${i}`)).status).toBe(200);
      expect(server.files.names).toEqual(expect.arrayContaining(['db0', 'db1']));
    }
    expect((await server.ask('POST', '/_replicate', { ...request, cancel: true })).status).toBe(200);
    await expect.poll(() => server.files.names.length).toBe(1);
  });

  it('none for an answer that was broken off, or never read', async () => {
    const server = await withDatabases(4, { max_dbs_open: 1 });
    const docs = Array.from({ length: 3_000 }, (_, i) => ({ _id: `d${i}`, text: 'x'.repeat(1_000) }));
    await server.ask('POST', '/db0/_bulk_docs', { docs });
    await fetch(`${server.url}/db0/doc/f`, { method: 'PUT', body: new Uint8Array(5_000_000) });
    const random = new Random(7);
    for (let i = 0; i < 40; i++) {
      const leaving = new AbortController();
      const path = random.pick(['/_changes?include_docs=true', '/doc/f', '/doc?attachments=true']);
      const asked = fetch(`${server.url}/db0${path}`, { signal: leaving.signal });
      for (let turns = random.below(30); turns > 0; turns--)
        await new Promise((resolve) => setImmediate(resolve));
      leaving.abort();
      await asked.catch(() => {});
    }
    await expect
      .poll(async () => {
        await useOthers(server, 4, 'db0');
        return server.files.names;
      })
      .toEqual(['db3']);
  });
});

it('tells when more are in use than are kept', async () => {
  const lines: string[] = [];
  const server = await withDatabases(4, { max_dbs_open: 1, logger: { info: (line) => lines.push(line) } });
  const feeds = await Promise.all(
    [0, 1, 2].map((i) => fetch(`${server.url}/db${i}/_changes?feed=continuous&heartbeat=60000`)),
  );
  expect(server.files.names).toEqual(expect.arrayContaining(['db0', 'db1', 'db2']));
  expect(lines.filter((line) => line.includes('max_dbs_open'))).toHaveLength(1);
  for (const feed of feeds) await feed.body!.cancel();
  await expect.poll(() => server.files.names.length).toBe(1);
});

it('whatever clients do with many databases, each acknowledged write is read back, and feeds hear of all', async () => {
  await trials(2, async (seed) => {
    const random = new Random(seed);
    const most = 1 + random.below(4);
    const server = await withDatabases(12, { max_dbs_open: most });
    const followed = remote<{ n: number }>(`${server.url}/db0`);
    const feed = followed.changes({ live: true, since: 0 });
    const heard = new Set<string>();
    const hearing = (async () => {
      for await (const { id } of feed) heard.add(id);
    })();
    /** By path, as acknowledged. Each client has documents of its own. */
    const acknowledged = new Map<string, { rev: string; n: number }>();
    const client = async (who: number): Promise<void> => {
      for (let n = 0; n < 40; n++) {
        const path = `/db${random.below(12)}/c${who}-${random.below(5)}`;
        const known = acknowledged.get(path);
        if (random.chance(0.6)) {
          const answer = await server.ask('PUT', path, { ...(known && { _rev: known.rev }), n });
          expect([path, answer.status]).toEqual([path, 201]);
          acknowledged.set(path, { rev: ((await answer.json()) as { rev: string }).rev, n });
        } else {
          const answer = await server.ask('GET', path);
          expect([path, answer.status]).toEqual([path, known === undefined ? 404 : 200]);
          if (known !== undefined) expect(await answer.json()).toMatchObject({ _rev: known.rev, n: known.n });
        }
        // What comes and goes meanwhile.
        if (random.chance(0.1)) {
          const name = `/passing${who}`;
          expect((await server.ask('PUT', name)).status).toBe(201);
          expect((await server.ask('PUT', `${name}/a`, {})).status).toBe(201);
          expect((await server.ask('DELETE', name)).status).toBe(200);
          expect((await server.ask('GET', `${name}/a`)).status).toBe(404);
        }
      }
    };
    await Promise.all([...Array(6).keys()].map(client));
    const ids = [...acknowledged.keys()].flatMap((path) => (path.startsWith('/db0/') ? [path.slice(5)] : []));
    await expect.poll(() => [...heard].sort()).toEqual(ids.sort());
    for (const [path, { rev, n }] of acknowledged)
      expect(await (await server.ask('GET', path)).json()).toMatchObject({ _rev: rev, n });
    feed.cancel();
    await hearing;
    await followed.close();
    await expect.poll(() => server.files.names.length).toBeLessThanOrEqual(most);
  });
});
