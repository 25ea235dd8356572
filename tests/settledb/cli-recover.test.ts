/** `settledb recover`, as a process of its own. */
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SettleDB } from '../../packages/settledb/src/entry.node';
import { logName } from '../file/support';
import { answerOf, begun, DOCS, program, scratch, serving, settledb } from './cli-process';

describe('settledb recover', () => {
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
        const named = `${url.replace('//', '//me:secret@')}/db`;
        const { child, ended } = begun(['recover', 'freed', named]);
        onTestFinished(() => void child.kill('SIGKILL'));
        await expect.poll(() => isWriting).toBe(true);
        child.kill(signal);
        const err = expect.stringMatching(
          /^settledb: http:\/\/127\.0\.0\.1:\d+\/db has only a part of it: remove it .*\n.*it was interrupted\n$/,
        );
        expect(await ended).toMatchObject({ code: 1, err });
        expect(readdirSync(folder)).toEqual(names);
      }
    },
  );
});
