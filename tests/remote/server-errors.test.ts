/** What clients are told of failures of the server's storage, and what goes to its log. */
import { corrupt, DatabaseError, ioError } from '@settledb/core';
import { expect, it, vi } from 'vitest';
import { isOurs, toWireError } from '../../packages/remote/src/server-errors';
import { testServer } from './support';

const EIO = Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' });

it('paths are for the log', () => {
  const paths = ['/data/notes/log.1', 'data/notes', 'C:\\data\\notes', '\\\\host\\data'];
  for (const path of paths)
    for (const reason of [`${path}: damaged at byte 5`, `Opening ${path} failed`, `Reading "${path}"`]) {
      const error = ioError(reason, EIO);
      expect(isOurs(error)).toBe(true);
      expect(toWireError(error)).toEqual({
        status: 500,
        error: 'io',
        reason: "The storage failed (EIO); the server's log says more",
      });
    }
});

it('a reason without a path is told', () => {
  const reason = 'the revisions of abc cannot be read';
  expect(toWireError(corrupt(reason))).toMatchObject({ status: 500, error: 'corrupt', reason });
});

it('what errors say that no storage made is as it is', () => {
  const forbidden = new DatabaseError({ status: 403, name: 'forbidden', reason: 'not below /a' });
  expect(toWireError(forbidden)).toEqual({ status: 403, error: 'forbidden', reason: 'not below /a' });
});

it('rows of _bulk_docs tell the log what they do not tell the client', async () => {
  const error = vi.fn();
  const server = testServer({ logger: { error } });
  await server.ask('PUT', '/db');
  const db = (await server.databases.open('db'))!;
  const { status, name, message, reason } = ioError('Reading /data/notes/log.1: EIO', EIO);
  const row = { id: 'a', error: true, status, name, message, reason } as const;
  vi.spyOn(db, 'bulkDocs').mockResolvedValue([row]);
  const { body } = await server.ask('POST', '/db/_bulk_docs', {
    docs: [{ _id: 'a', _rev: '1-a' }],
    new_edits: false,
  });
  expect(body).toEqual([{ id: 'a', error: 'io', reason: "The storage failed; the server's log says more" }]);
  expect(error).toHaveBeenCalledExactlyOnceWith('a document of _bulk_docs was not written, "a"', reason);
});
