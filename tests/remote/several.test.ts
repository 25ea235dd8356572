/** Several lists in one answer: sent as they are made, in CouchDB's form, and with a status of their own where they fail at once. */
import { describe, expect, it } from 'vitest';
import { severalResponse } from '../../packages/remote/src/server-several';
import { ORIGIN, testServer } from './support';

/** Lists of a quarter of a million characters, counted as they are asked for. */
function counted(count: number, failsAt = -1) {
  const made = { count: 0 };
  async function* list({ i }: Record<string, unknown>) {
    if (i === failsAt) throw new Error('broken');
    made.count++;
    yield JSON.stringify({ rows: [i, 'x'.repeat(250_000)] });
  }
  const queries = Array.from({ length: count }, (_, i) => ({ i }));
  return { made, answer: () => severalResponse(queries, list) };
}

describe('several lists in one answer', () => {
  it('are made only as they are taken', async () => {
    const { made, answer: ask } = counted(40);
    const answer = (await ask()) as Response;
    expect(made.count).toBe(4);
    const reader = answer.body!.getReader();
    await reader.read();
    expect(made.count).toBeLessThanOrEqual(5);
    await reader.read();
    expect(made.count).toBeLessThanOrEqual(6);
    await reader.cancel();
    expect(made.count).toBeLessThan(10);
  });

  it('are one JSON, however many there are', async () => {
    for (const count of [0, 1, 2, 4, 9]) {
      const answer = await counted(count).answer();
      expect(answer instanceof Response).toBe(count >= 4);
      const text = answer instanceof Response ? await answer.text() : answer.text;
      expect(text.endsWith('}\n')).toBe(true);
      const { results } = JSON.parse(text) as { results: { rows: unknown[] }[] };
      expect(results.map(({ rows }) => rows[0])).toEqual([...Array(count).keys()]);
    }
  });

  it('fail as a whole before the first is sent, and break off after', async () => {
    await expect(counted(5, 2).answer()).rejects.toThrow('broken');
    const answer = (await counted(9, 6).answer()) as Response;
    await expect(answer.text()).rejects.toThrow('broken');
  });

  it('are those of documents and of views, through the server', async () => {
    const server = testServer({ runStoredFunctions: true });
    await server.ask('PUT', '/db');
    const views = { v: { map: 'function (doc) { emit(doc.n); }' } };
    await server.ask('PUT', '/db/_design/d', { views });
    const docs = Array.from({ length: 10 }, (_, n) => ({ _id: `d${n}`, n, text: 'x'.repeat(50_000) }));
    await server.ask('POST', '/db/_bulk_docs', { docs });
    for (const path of ['/db/_all_docs', '/db/_design/d/_view/v']) {
      const one = (await server.ask('GET', `${path}?include_docs=true`)).body;
      for (const count of [1, 4]) {
        const queries = Array.from({ length: count }, () => ({ include_docs: true }));
        const { status, headers, body } = await server.ask('POST', `${path}/queries`, { queries });
        expect([path, status, headers.get('content-type')]).toEqual([path, 200, 'application/json']);
        expect(body.results).toEqual(Array(count).fill(one));
      }
      const wrong = { queries: [{}, { limit: 'x' }] };
      expect((await server.ask('POST', `${path}/queries`, wrong)).status).toBe(400);
    }
    const none = await server.ask('POST', '/db/_design/d/_view/none/queries', { queries: [{}] });
    expect(none.status).toBe(404);
    const response = await server.fetch(`${ORIGIN}/db/_all_docs/queries`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ queries: [] }),
    });
    expect(await response.text()).toBe('{"results":[]}\n');
  });
});
