/** The command line, as a process of its own. */
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { answerOf, begun, DOCS, program, scratch, serving, settledb } from './cli-process';

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
      out: expect.stringContaining('settledb dump <db> [file] [--plain] [--local]'),
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

  it('does not repeat the password of a URL where it takes a folder, or a file', async () => {
    await answerOf('load there', DOCS);
    const url = 'http://me:secret@couch/db';
    for (const [command, words] of [
      [`verify ${url}`, 'what is read must be the path of a folder, not a URL'],
      [`recover ${url} other`, 'what is read must be the path of a folder, not a URL'],
      [`serve ${url} --anonymous`, 'what is read must be the path of a folder, not a URL'],
      [`dump there ${url}`, 'what is written to must be the path of a file, not a URL'],
      [`load other ${url}`, 'what is read must be the path of a file, not a URL'],
    ])
      expect(await settledb(command!)).toEqual({
        code: 1,
        out: '',
        err: `settledb: bad_request: ${words}\n`,
      });
    expect(existsSync(join(scratch, 'other'))).toBe(false);
  });

  it('does not repeat that of a mistyped URL, and does not take it for a folder', async () => {
    const url = 'htp://me:secret@couch/db';
    const commands = ['info', 'conflicts', 'compact', 'dump', 'verify', 'load'].map(
      (each) => `${each} ${url}`,
    );
    const all = [`recover ${url} other`, `replicate ${url} other`, `serve ${url} --anonymous`, ...commands];
    for (const command of all) {
      const { code, out, err } = await settledb(command, { input: DOCS });
      expect([code, out, err], command).toEqual([1, '', expect.stringContaining('couch/db')]);
      expect(err).not.toContain('secret');
    }
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

  it('says why it reads a file no further, whatever of it is still to come', async () => {
    const header = JSON.stringify({ settledb: 'dump', version: 2, uuid: 'u', seq: 0, doc_count: 0 });
    const later = `${header}\n${'{"doc":{}}\n'.repeat(100_000)}`;
    writeFileSync(join(scratch, 'later.dump'), later);
    for (let n = 0; n < 5; n++)
      expect(await settledb('load of-later later.dump')).toEqual({
        code: 1,
        out: '',
        err: 'settledb: not_implemented: This is a dump of version 2; this program knows version 1\n',
      });
  });

  it('dumps _local documents if it is told to', async () => {
    const db = new SettleDB(join(scratch, 'with-local'));
    await db.put({ _id: '_local/mine', n: 1 });
    await db.close();
    for (const [args, there] of [
      ['', [404]],
      [' --local', [200, 1]],
    ] as const) {
      const { out } = await settledb(`dump with-local --plain${args}`);
      const name = `local${args.trim()}`;
      expect(await answerOf(`load ${name}`, out)).toMatchObject({ ok: true, docs_read: 0 });
      const again = new SettleDB<{ n: number }>(join(scratch, name));
      const found = await again.get('_local/mine').then(
        ({ n }) => [200, n],
        ({ status }) => [status],
      );
      await again.close();
      expect(found).toEqual(there);
    }
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
    chmodSync(join(scratch, 'elsewhere/dump'), 0o600);
    expect(await settledb('dump linked link --plain')).toEqual({ code: 0, out: '', err: '' });
    expect(statSync(join(scratch, 'elsewhere/dump')).mode & 0o777).toBe(0o600);
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

  it('lists the conflict behind a page whose last document is removed meanwhile', async () => {
    const ids = Array.from({ length: 1_001 }, (_, n) => `${1_000_000 + n}`);
    const rowOf = (id: string): object => ({
      id,
      key: id,
      value: { rev: '1-a' },
      doc: { _id: id, _rev: '1-a', ...(id === '1001000' && { _conflicts: ['1-0'] }) },
    });
    const url = await serving(({ url: asked }, response) => {
      const { pathname, searchParams } = new URL(asked!, 'http://here');
      const number = (name: string): number => Number(searchParams.get(name));
      const from = JSON.parse(searchParams.get('startkey') ?? '""') as string;
      const found = ids.filter((id) => id >= from).slice(number('skip'), number('skip') + number('limit'));
      if (found.length === 1_000) ids.splice(999, 1);
      const answer = { total_rows: ids.length, offset: 0, rows: found.map(rowOf) };
      response.setHeader('content-type', 'application/json');
      response.end(
        JSON.stringify(pathname.endsWith('/_all_docs') ? answer : { db_name: 'db', update_seq: 1 }),
      );
    });
    expect(await settledb(`conflicts ${url}/db`)).toMatchObject({
      code: 0,
      out: '{"id":"1001000","rev":"1-a","conflicts":["1-0"]}\n',
    });
  });

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

  it('gives the origin null, which any page can have, no credentials', async () => {
    const { child } = begun('serve served --anonymous --port 0 --cors null'.split(' '));
    onTestFinished(() => void child.kill('SIGKILL'));
    const [line] = (await once(child.stdout!, 'data')) as [Buffer];
    const { headers } = await fetch(`${line}`.split(' ')[0]!, { headers: { origin: 'null' } });
    expect(headers.get('access-control-allow-origin')).toBe('null');
    expect(headers.get('access-control-allow-credentials')).toBeNull();
  });

  it('gives the terminal no orders of others', async () => {
    const words = '\u001b]0;title\u0007\u009b2J\r\u007f';
    const url = await serving((_, response) => {
      response.writeHead(500, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: 'io', reason: words }));
    });
    const { code, err } = await settledb(`info ${url}/db`);
    const shown = '\\u001b]0;title\\u0007\\u009b2J\\u000d\\u007f';
    expect([code, err]).toEqual([1, `settledb: io: ${shown}\n`]);
    const docs = ['1-a', '1-b'].map((_rev) => ({ _id: words, _rev }));
    await answerOf('load orders', JSON.stringify({ docs }));
    const { out } = await settledb('conflicts orders');
    expect([out, JSON.parse(out).id]).toEqual([expect.stringContaining('\\u009b2J\\r\\u007f'), words]);
    expect(out).not.toMatch(/[\0-\x09\x0b-\x1f\x7f-\x9f]/);
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
