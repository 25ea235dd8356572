/** What the command line offers. */
import type { ParseArgsConfig } from 'node:util';
import { isDatabaseError } from '@settledb/core';
import { verify } from '../verify';
import { dump, load } from './dumps';
import { checkFolder, existing, made, madeIfFolder, restored, withDatabase } from './open';
import { recovery } from './recovery';
import { say } from './say';
import { serve } from './serve';
import { unlessAsked, untilAsked } from './until-asked';

export interface Command {
  /** Names of the arguments; with a `?` at the end: may be left out. */
  readonly takes: readonly string[];
  readonly options?: NonNullable<ParseArgsConfig['options']>;
  readonly does: string;
  readonly more?: readonly string[];
  /** @returns whether all that was asked for is done */
  run(args: readonly string[], options: Readonly<Record<string, unknown>>): Promise<boolean>;
}

/** Documents listed at a time. */
const PAGE = 1_000;

const print = (answer: unknown): true => {
  say(JSON.stringify(answer, undefined, 2));
  return true;
};

export const commands = {
  serve: {
    takes: ['folder'],
    options: {
      port: { type: 'string' },
      host: { type: 'string' },
      admin: { type: 'string' },
      anonymous: { type: 'boolean' },
      cors: { type: 'string', multiple: true },
      'run-stored-functions': { type: 'boolean' },
    },
    does: 'serves the databases in a folder over HTTP, as CouchDB would',
    more: [
      '--port 5984, --host 127.0.0.1',
      '--admin NAME: may do everything, with the password in SETTLEDB_PASSWORD',
      '--anonymous: whoever reaches it may do everything, without a password',
      "--cors https://app.example: pages there may use it, with cookies; once for each site; '*' or 'null': all pages, without",
      '--run-stored-functions: views, filters and validation in design documents run, with all rights of this process',
    ],
    run: ([folder], options) => serve(folder!, options),
  },
  info: {
    takes: ['db'],
    does: 'counts of documents and changes, and the identity',
    run: ([name]) =>
      withDatabase(existing(name!), async (db) => print({ ...(await db.info()), uuid: await db.id() })),
  },
  conflicts: {
    takes: ['db'],
    does: 'documents with conflicts, one line of JSON each',
    run: ([name]) =>
      withDatabase(existing(name!), async (db) => {
        for (let startkey = ''; ; ) {
          const { rows } = await db.allDocs({ startkey, limit: PAGE, include_docs: true, conflicts: true });
          for (const { id, doc } of rows) {
            const { _rev: rev, _conflicts: conflicts } = doc;
            if (conflicts !== undefined) say(JSON.stringify({ id, rev, conflicts }));
          }
          // Who reads the list may have read enough, as `head` does.
          if (rows.length < PAGE || !process.stdout.writable) return true;
          startkey = `${rows.at(-1)!.id}\0`; // the next that there can be: it may not be there any more itself
        }
      }),
  },
  compact: {
    takes: ['db'],
    does: 'gives back the room of past revisions',
    run: ([name]) => withDatabase(existing(name!), async (db) => print(await db.compact())),
  },
  replicate: {
    takes: ['source', 'target'],
    options: { live: { type: 'boolean' }, 'create-target': { type: 'boolean' } },
    does: 'writes to a database what it lacks of another',
    more: [
      '--live: goes on until it is interrupted, through disconnections',
      '--create-target: makes a target behind a URL; a folder is made anyway',
    ],
    run: ([source, target], options) =>
      withDatabase(existing(source!), async (from) => {
        const live = options.live === true;
        // Asked first, so that no target is made for a source that is not there.
        await from.info().catch((error: unknown) => {
          if (!live || (isDatabaseError(error) && error.status === 404)) throw error;
        });
        return withDatabase(
          (options['create-target'] === true ? made : madeIfFolder)(target!),
          async (to) => {
            const replication = from.replicate.to(to, { live, retry: live });
            const stop = live ? untilAsked(() => replication.cancel()) : () => {};
            try {
              const answer = await replication;
              return print(answer) && answer.doc_write_failures === 0;
            } finally {
              stop();
            }
          },
        );
      }),
  },
  dump: {
    takes: ['db', 'file?'],
    options: { plain: { type: 'boolean' }, local: { type: 'boolean' } },
    does: 'all documents with their attachments into a file, or to standard output',
    more: [
      '--plain: lines of JSON, not compressed',
      "--local: _local documents too, for a program's own; of a folder only",
    ],
    run: ([name, path], { plain, local }) =>
      withDatabase(existing(name!), (db) => dump(db, path, { gzip: plain !== true, local: local === true })),
  },
  load: {
    takes: ['db', 'file?'],
    does: 'reads a dump, of settledb, CouchDB or pouchdb-dump, from a file or standard input',
    async run([name, path]) {
      const answer = await load(path, () => restored(name!));
      return print(answer) && answer.ok;
    },
  },
  verify: {
    takes: ['folder'],
    does: 'reads all of a folder, and says whether it is sound',
    more: ['Exits with 1 if anything is damaged, lost or contradictory. The folder stays as it is.'],
    async run([folder]) {
      checkFolder(folder!);
      const verified = await unlessAsked((signal) => verify(folder!, { signal }));
      return print(verified) && verified.ok;
    },
  },
  recover: {
    takes: ['folder', 'db'],
    does: 'brings what is sound of a damaged folder into an empty database, and lists what is lost',
    more: [
      'Exits with 1 if anything is lost. The folder stays as it is.',
      'A <db> that is a folder is called <db>.part until all is in it.',
    ],
    async run([folder, name]) {
      const recovered = await recovery(folder!, name!);
      return print(recovered) && recovered.ok;
    },
  },
} satisfies Record<string, Command>;
