/** Answers of which nobody takes anything, like those to HEAD: what they are made from is left too, not held until it is collected. */
import { expect, it } from 'vitest';
import { ORIGIN, testServer } from './support';

it('an attachment that was opened for an answer is left with it', async () => {
  const server = testServer();
  await server.ask('PUT', '/db');
  const url = `${ORIGIN}/db/d/f`;
  const body = new Uint8Array(3 * 1024 * 1024);
  await server.fetch(url, { method: 'PUT', body, headers: { 'content-type': 'image/png' } });
  const db = (await server.databases.open('db'))!;
  const open = db.openAttachment.bind(db);
  let left = 0;
  db.openAttachment = async (...given) => {
    const { stream, ...about } = await open(...given);
    const reader = stream.getReader();
    const watched = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => controller.enqueue((await reader.read()).value!),
        cancel(reason) {
          left++;
          return reader.cancel(reason);
        },
      },
      { highWaterMark: 0 },
    );
    return { ...about, stream: watched };
  };
  expect((await server.fetch(url, { method: 'HEAD' })).body).toBe(null);
  await expect.poll(() => left).toBe(1);
  await (await server.fetch(url)).body!.cancel();
  await expect.poll(() => left).toBe(2);
  expect((await server.fetch(url, { headers: { range: 'bytes=99999999-' } })).status).toBe(416);
  await expect.poll(() => left).toBe(3);
});
