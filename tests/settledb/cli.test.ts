/** The command line, as a process of its own. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { home, logName } from '../file/support';

const scratch = home();
const program = join(scratch, 'package/dist/cli.mjs');
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

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function begun(args: readonly string[], password?: string): { child: ChildProcess; ended: Promise<Ended> } {
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
function settledb(
  args: string,
  { input = '', password }: { input?: string; password?: string } = {},
): Promise<Ended> {
  const { child, ended } = begun(args === '' ? [] : args.split(' '), password);
  child.stdin!.end(input);
  return ended;
}

const answerOf = async (args: string, input?: string): Promise<Record<string, unknown>> => {
  const { code, out, err } = await settledb(args, input === undefined ? {} : { input });
  expect([code, err]).toEqual([0, '']);
  return JSON.parse(out);
};

const DOCS = JSON.stringify({
  docs: [
    { _id: 'a', n: 1 },
    { _id: 'b', n: 2 },
  ],
});

/** @returns the URL of a server that lasts as long as the test */
async function serving(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close().closeAllConnections());
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('the command line', () => {
  it('says what it offers, its version, and what was not understood', async () => {
    for (const args of ['', 'help', '--help', '-h'])
      expect(await settledb(args)).toMatchObject({
        code: 0,
        err: '',
        out: expect.stringContaining('settledb serve <folder>'),
      });
    expect(await settledb('--version')).toMatchObject({ code: 0, out: '1.2.3\n' });
    expect(await settledb('dump --help')).toMatchObject({
      code: 0,
      out: expect.stringContaining('settledb dump <db> [file] [--plain]'),
    });
    for (const [args, words] of [
      ['constructor', 'there is no command "constructor"'],
      ['info', 'info takes <db>'],
      ['info a b', 'info takes <db>'],
      ['dump', 'dump takes <db> [file]'],
      ['info a --fast', "Unknown option '--fast'"],
    ] as const)
      expect(await settledb(args)).toMatchObject({ code: 2, out: '', err: expect.stringContaining(words) });
  });

  it('makes no database where one is only to be read', async () => {
    for (const args of ['info', 'conflicts', 'compact', 'dump']
      .map((each) => `${each} none`)
      .concat('replicate none other', 'verify none', 'recover none other')) {
      const { code, err } = await settledb(args);
      expect([code, err]).toEqual([1, 'settledb: not_found: there is no database in none\n']);
    }
    expect(existsSync(join(scratch, 'none')) || existsSync(join(scratch, 'other'))).toBe(false);
  });

  it('does not say that there is no database where it cannot look', async () => {
    symlinkSync('round', join(scratch, 'round'));
    for (const command of ['info round', 'recover round other'])
      expect(await settledb(command)).toMatchObject({
        code: 1,
        err: expect.stringMatching(/^settledb: ELOOP/),
      });
    expect(existsSync(join(scratch, 'other'))).toBe(false);
  });

  it('makes none on a server either', async () => {
    const asked = new Set<string>();
    const url = await serving(({ method }, response) => {
      asked.add(method!);
      response.writeHead(404, { 'content-type': 'application/json' });
      response.end('{"error":"not_found","reason":"Database does not exist."}');
    });
    const commands = ['info', 'conflicts', 'compact', 'dump'].map((each) => `${each} ${url}/none`);
    const all = await Promise.all(
      [...commands, `replicate ${url}/none pulled`, `replicate ${url}/none followed --live`].map((each) =>
        settledb(each),
      ),
    );
    for (const { code, err } of all)
      expect([code, err]).toEqual([1, 'settledb: not_found: Database does not exist.\n']);
    expect(asked).not.toContain('PUT');
    expect(['pulled', 'followed'].filter((name) => existsSync(join(scratch, name)))).toEqual([]);
  });

  it('loads, dumps, compacts and replicates', async () => {
    expect(await answerOf('load one', DOCS)).toMatchObject({ ok: true, docs_written: 2 });
    expect(await answerOf('info one')).toMatchObject({
      doc_count: 2,
      adapter: 'file',
      uuid: expect.any(String),
    });
    expect(await answerOf('compact one')).toEqual({ ok: true });
    const { out } = await settledb('dump one --plain');
    expect(out.split('\n')[1]).toContain('"_id":"a"');
    expect(await settledb('dump one one.dump.gz')).toEqual({ code: 0, out: '', err: '' });
    expect(readdirSync(scratch).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    expect(await answerOf('load two one.dump.gz')).toMatchObject({
      ok: true,
      format: 'settledb',
      docs_written: 2,
    });
    expect(await answerOf('replicate one three')).toMatchObject({ ok: true, docs_written: 2 });
    expect(await answerOf('info three')).toMatchObject({ doc_count: 2 });
    expect(await settledb('load four missing.gz')).toMatchObject({
      code: 1,
      err: expect.stringContaining('ENOENT'),
    });
    expect(await settledb('load four .')).toEqual({
      code: 1,
      out: '',
      err: 'settledb: . is a folder: name a file\n',
    });
    expect(existsSync(join(scratch, 'four'))).toBe(false);
    expect(await settledb('load two', { input: 'no dump' })).toMatchObject({
      code: 1,
      err: expect.stringContaining('bad_request'),
    });
    const { code, err } = await settledb('dump one nowhere/one.gz');
    expect([code, err]).toEqual([1, expect.stringContaining('ENOENT')]);
  });

  it("dumps through links and into pipes, and replaces nobody else's file", async () => {
    await answerOf('load linked', DOCS);
    mkdirSync(join(scratch, 'elsewhere'));
    writeFileSync(join(scratch, 'elsewhere/dump'), 'old');
    writeFileSync(join(scratch, 'elsewhere/dump.tmp'), 'mine');
    symlinkSync('elsewhere/dump', join(scratch, 'link'));
    expect(await settledb('dump linked link --plain')).toEqual({ code: 0, out: '', err: '' });
    expect(lstatSync(join(scratch, 'link')).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(scratch, 'elsewhere/dump'), 'utf8')).toContain('"_id":"a"');
    expect(readFileSync(join(scratch, 'elsewhere/dump.tmp'), 'utf8')).toBe('mine');
    expect(readdirSync(join(scratch, 'elsewhere'))).toHaveLength(2);
    if (process.platform === 'win32') return;
    const pipe = join(scratch, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const read = readFile(pipe, 'utf8');
    expect(await settledb('dump linked pipe --plain')).toEqual({ code: 0, out: '', err: '' });
    expect(await read).toContain('"_id":"a"');
    expect(lstatSync(pipe).isFIFO()).toBe(true);
  });

  it('exits with 1 if a dump is not read to its end, or cannot be written, and closes the database', async () => {
    const db = new SettleDB(join(scratch, 'long'));
    // More than pipes and streams hold.
    await db.bulkDocs(Array.from({ length: 100 }, (_, n) => ({ _id: `${n}`, text: 'x'.repeat(10_000) })));
    await db.close();
    const names = readdirSync(join(scratch, 'long'));
    const { child, ended } = begun(['dump', 'long', '--plain']);
    child.stdout!.once('data', () => child.stdout!.destroy());
    expect(await ended).toMatchObject({ code: 1, err: expect.stringMatching(/^settledb: .*EPIPE.*\n$/) });
    expect(readdirSync(join(scratch, 'long'))).toEqual(names);
    for (const command of ['info', 'conflicts']) {
      const { child, ended } = begun([command, 'long']);
      child.stdout!.destroy();
      expect(await ended).toMatchObject({ code: 0, err: '' });
      expect(readdirSync(join(scratch, 'long')), command).toEqual(names);
    }
    if (!existsSync('/dev/full')) return;
    for (const command of ['dump long --plain', 'info long']) {
      const full = spawnSync('sh', ['-c', `"$0" "$1" ${command} > /dev/full`, process.execPath, program], {
        cwd: scratch,
        encoding: 'utf8',
      });
      expect([full.status, full.stderr]).toEqual([1, expect.stringMatching(/^settledb: .*ENOSPC.*\n$/)]);
      expect(readdirSync(join(scratch, 'long')), command).toEqual(names);
    }
  });

  it.skipIf(process.platform === 'win32')('leaves no part of a dump when it is told to end', async () => {
    const url = await serving(() => {}); // the file is made, and the database does not answer
    const folder = join(scratch, 'ended');
    mkdirSync(folder);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      const { child, ended } = begun(['dump', `${url}/db`, 'ended/dump.gz']);
      onTestFinished(() => void child.kill('SIGKILL'));
      await expect.poll(() => readdirSync(folder)).toHaveLength(1);
      child.kill(signal);
      await ended;
      expect([child.signalCode, readdirSync(folder)]).toEqual([signal, []]);
    }
  });

  it('lists conflicts', async () => {
    const db = new SettleDB(join(scratch, 'conflicts'));
    await db.bulkDocs(Array.from({ length: 1_100 }, (_, n) => ({ _id: `${1_000_000 + n}` })));
    const other = '1-00000000000000000000000000000000';
    const conflicted = ['1000003', '1001050'];
    await db.bulkDocs(
      conflicted.map((_id) => ({ _id, _rev: other })),
      { new_edits: false },
    );
    const revs = await Promise.all(conflicted.map(async (id) => (await db.get(id))._rev));
    await db.close();
    const { out } = await settledb('conflicts conflicts');
    expect(
      out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual(conflicted.map((id, at) => ({ id, rev: revs[at], conflicts: [other] })));
  });

  it('recovers a damaged folder, and exits with 1 if anything is lost', async () => {
    const folder = join(scratch, 'damaged');
    const db = new SettleDB<{ text: string }>(folder);
    await db.put({ _id: 'a', text: 'first' });
    await db.put({ _id: 'b', text: 'second' });
    await db.close();
    const log = readFileSync(logName(folder));
    log[log.indexOf('first')]! ^= 1;
    writeFileSync(logName(folder), log);
    expect(await settledb('info damaged')).toMatchObject({
      code: 1,
      err: expect.stringContaining('corrupt: '),
    });
    const verified = await settledb('verify damaged');
    expect([verified.code, JSON.parse(verified.out)]).toMatchObject([1, { ok: false, lost: { commits: 1 } }]);
    const { code, out } = await settledb('recover damaged again');
    expect([code, JSON.parse(out)]).toMatchObject([1, { ok: false, docs: 1, lost: { commits: 1 } }]);
    expect(await answerOf('recover again sound')).toMatchObject({ ok: true, docs: 1 });
    expect(await answerOf('verify sound')).toMatchObject({ ok: true, docs: 1, contradictions: [] });
  });

  it('makes no database for what cannot be recovered, and does not open the folder to write to it', async () => {
    const folder = join(scratch, 'unfinished');
    const db = new SettleDB(folder);
    await db.put({ _id: 'a' });
    const locked = { code: 1, err: expect.stringMatching(/^settledb: locked: /) };
    expect(await settledb('recover unfinished not-made')).toMatchObject(locked);
    expect(existsSync(join(scratch, 'not-made'))).toBe(false);
    await db.close();
    appendFileSync(logName(folder), 'a write that was never finished');
    const before = readFileSync(logName(folder));
    expect(await settledb('recover unfinished unfinished')).toMatchObject(locked);
    expect(readFileSync(logName(folder))).toEqual(before);
  });

  it('gives a folder its name when all of a recovery is in it, wherever the process is killed', async () => {
    await answerOf('load whole', DOCS);
    const [target, part] = ['brought', 'brought.part'].map((name) => join(scratch, name)) as [string, string];
    for (let nth = 1; ; nth++) {
      // Ends the process before its nth change to files.
      const killing = `import fs from 'node:fs';
        import { syncBuiltinESMExports } from 'node:module';
        let left = ${nth};
        for (const name of ['write', 'writeSync', 'renameSync', 'mkdirSync', 'rmdirSync']) {
          const original = fs[name];
          fs[name] = (...given) => (--left === 0 ? process.kill(process.pid, 'SIGKILL') : original(...given));
        }
        syncBuiltinESMExports();`;
      const args = ['--import', `data:text/javascript,${encodeURIComponent(killing)}`, program];
      const { signal } = spawnSync(process.execPath, [...args, 'recover', 'whole', 'brought'], {
        cwd: scratch,
      });
      if (signal === null) break;
      expect([nth, existsSync(target)]).toEqual([nth, false]);
      if (!existsSync(part)) continue;
      const { code, err } = await settledb('recover whole brought');
      expect([nth, code, err]).toEqual([
        nth,
        1,
        expect.stringMatching(/brought\.part is there, .*interrupted/),
      ]);
      rmSync(part, { recursive: true });
    }
    expect([await answerOf('verify brought'), existsSync(part)]).toMatchObject([
      { ok: true, docs: 2 },
      false,
    ]);
  });

  it('recovers into a folder that is empty, or has a database that is, and into no other', async () => {
    await answerOf('load some', DOCS);
    mkdirSync(join(scratch, 'empty'));
    const none = new SettleDB(join(scratch, 'no-documents'));
    await none.info();
    await none.close();
    mkdirSync(join(scratch, 'files'));
    writeFileSync(join(scratch, 'files/notes'), '');
    for (const target of ['empty', 'no-documents']) {
      expect(await answerOf(`recover some ${target}`)).toMatchObject({ ok: true, docs: 2 });
      expect(await answerOf(`info ${target}`)).toMatchObject({ doc_count: 2 });
    }
    for (const [target, words] of [
      ['files', 'files has other files'],
      ['empty', 'not empty'],
      ['some', 'locked'],
    ])
      expect(await settledb(`recover some ${target}`)).toMatchObject({
        code: 1,
        err: expect.stringContaining(words!),
      });
    expect(readdirSync(join(scratch, 'files'))).toEqual(['notes']);
    expect(readdirSync(scratch).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  it('keeps histories as long as they were in what it recovers and loads', async () => {
    const db = new SettleDB(join(scratch, 'long'), { revs_limit: 5_000 });
    const ids = Array.from({ length: 1_500 }, (_, n) => `${n}`.padStart(32, '0'));
    await db.bulkDocs([{ _id: 'a', _rev: `1500-${ids[0]}`, _revisions: { start: 1_500, ids } }] as never, {
      new_edits: false,
    });
    await db.close();
    await answerOf('recover long long-again');
    expect((await settledb('dump long long.dump')).code).toBe(0);
    await answerOf('load long-loaded long.dump');
    for (const name of ['long-again', 'long-loaded']) {
      const again = new SettleDB(join(scratch, name));
      expect([name, (await again.get('a', { revs: true }))._revisions]).toEqual([
        name,
        { start: 1_500, ids },
      ]);
      await again.close();
    }
  });

  it.skipIf(process.platform === 'win32')(
    'frees a folder when its recovery is told to end, and says that there is only a part of it',
    async () => {
      const folder = join(scratch, 'freed');
      const db = new SettleDB(folder);
      await db.put({ _id: 'a' });
      await db.close();
      const names = readdirSync(folder);
      for (const signal of ['SIGINT', 'SIGTERM'] as const) {
        let isWriting = false;
        const url = await serving((request, response) => {
          if (request.method === 'POST') isWriting = true;
          else response.setHeader('Content-Type', 'application/json').end('{"doc_count":0,"update_seq":0}');
        });
        const { child, ended } = begun(['recover', 'freed', `${url}/db`]);
        onTestFinished(() => void child.kill('SIGKILL'));
        await expect.poll(() => isWriting).toBe(true);
        child.kill(signal);
        const err = expect.stringMatching(
          /\/db has only a part of it: remove it .*\n.*it was interrupted\n$/,
        );
        expect(await ended).toMatchObject({ code: 1, err });
        expect(readdirSync(folder)).toEqual(names);
      }
    },
  );

  it('serves a folder to whoever has the password, until it is interrupted', async () => {
    await answerOf('load served/notes', DOCS);
    expect(await settledb('serve served')).toMatchObject({
      code: 1,
      err: expect.stringContaining('nobody could use it'),
    });
    expect(await settledb('serve served --admin me')).toMatchObject({
      code: 1,
      err: expect.stringContaining('SETTLEDB_PASSWORD'),
    });
    expect(await settledb('serve served --anonymous --port x')).toMatchObject({
      code: 1,
      err: expect.stringContaining('--port'),
    });
    const { child, ended } = begun(
      'serve served --admin me --port 0 --cors https://app.example'.split(' '),
      'secret',
    );
    onTestFinished(() => void child.kill('SIGKILL'));
    const [url] = await new Promise<string>((resolve) =>
      child.stdout!.once('data', (data) => resolve(`${data}`)),
    ).then((line) => line.split(' '));
    const notes = `${url!.replace('//', '//me@')}/notes`;
    expect(await settledb(`info ${notes}`, { password: 'secret' })).toMatchObject({
      code: 0,
      out: expect.stringContaining('"doc_count": 2'),
    });
    const refused = await settledb(`info ${notes}`, { password: 'wrong' });
    expect(refused).toEqual({
      code: 1,
      out: '',
      err: 'settledb: unauthorized: Name or password is incorrect.\n',
    });
    expect(await settledb(`replicate ${notes} pulled`, { password: 'secret' })).toMatchObject({ code: 0 });
    const push = `replicate pulled ${url!.replace('//', '//me@')}/pushed`;
    expect(await settledb(push, { password: 'secret' })).toMatchObject({
      code: 1,
      err: expect.stringContaining('not_found'),
    });
    expect(await settledb(`${push} --create-target`, { password: 'secret' })).toMatchObject({ code: 0 });
    const { headers } = await fetch(url!, { headers: { origin: 'https://app.example' } });
    expect(headers.get('access-control-allow-origin')).toBe('https://app.example');
    child.kill('SIGINT');
    const { code, out, err } = await ended;
    expect([code, err]).toEqual([0, '']);
    expect(out).not.toContain('secret');
  });

  it('tells of what fails as it serves where it was started, and clients less', async () => {
    mkdirSync(join(scratch, 'looped'));
    symlinkSync('db', join(scratch, 'looped/db'));
    const { child, ended } = begun('serve looped --anonymous --port 0'.split(' '));
    onTestFinished(() => void child.kill('SIGKILL'));
    const [line] = await once(child.stdout!, 'data');
    const told = await (await fetch(`${`${line}`.split(' ')[0]}/db`)).text();
    expect([told.includes('ELOOP'), told.includes('looped')]).toEqual([true, false]);
    child.kill('SIGINT');
    const err = expect.stringMatching(/^settledb: GET \/db failed: .*looped\/db: ELOOP/);
    expect(await ended).toMatchObject({ code: 0, err });
  });

  it('replicates live until it is interrupted', async () => {
    await answerOf('load source', DOCS);
    const { child, ended } = begun(['replicate', 'source', 'mirror', '--live']);
    onTestFinished(() => void child.kill('SIGKILL'));
    await expect.poll(() => existsSync(join(scratch, 'mirror/log.1'))).toBe(true);
    await expect.poll(() => readFileSync(join(scratch, 'mirror/log.1')).includes('"n":2')).toBe(true);
    child.kill('SIGTERM');
    const { code, out } = await ended;
    expect([code, JSON.parse(out)]).toMatchObject([0, { docs_written: 2, status: 'cancelled' }]);
  });
});
