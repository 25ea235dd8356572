/** The benchmark's client: a mistake of it would be a mistake of every figure taken over HTTP. */
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { AnswerReader, HttpClient } from '../../perf/src/http-client';

const head = (...lines: string[]): string => ['HTTP/1.1 200 OK', ...lines, '', ''].join('\r\n');
const withLength = (text: string, ...lines: string[]): string =>
  head(`Content-Length: ${Buffer.byteLength(text)}`, ...lines) + text;
const inChunks = (parts: readonly string[]): string =>
  head('Transfer-Encoding: chunked') +
  parts.map((part) => `${Buffer.byteLength(part).toString(16)}\r\n${part}\r\n`).join('') +
  '0\r\n\r\n';

function read(pieces: readonly Buffer[]): AnswerReader {
  const reader = new AnswerReader();
  for (const [i, piece] of pieces.entries()) expect(reader.push(piece)).toBe(i === pieces.length - 1);
  return reader;
}

describe('an answer as its pieces arrive', () => {
  // Bodies with what separates lines and chunks, and with characters of several bytes, cut at any bytes at all.
  const text = fc.string({
    unit: fc.constantFrom('a', '{', '\r\n', '0\r\n\r\n', 'é', '🙂'),
    maxLength: 12,
  });
  const cuts = fc.array(fc.nat(400), { maxLength: 8 });

  const cut = (answer: string, at: readonly number[]): Buffer[] => {
    const bytes = Buffer.from(answer);
    const places = [...new Set([0, ...at.filter((each) => each > 0 && each < bytes.length), bytes.length])];
    places.sort((a, b) => a - b);
    return places.slice(1).map((end, i) => bytes.subarray(places[i], end));
  };

  it('is what was sent, with a length, wherever it is cut', () => {
    fc.assert(
      fc.property(text, cuts, (body, at) => {
        const reader = read(cut(withLength(body), at));
        expect([reader.status, reader.bytes().toString(), reader.isLast]).toEqual([200, body, false]);
      }),
    );
  });

  it('is what was sent, in chunks, wherever it is cut', () => {
    const parts = fc.array(
      text.filter((each) => each !== ''),
      { maxLength: 4 },
    );
    fc.assert(
      fc.property(parts, cuts, (bodies, at) => {
        expect(
          read(cut(inChunks(bodies), at))
            .bytes()
            .toString(),
        ).toBe(bodies.join(''));
      }),
    );
  });

  it('is read byte by byte', () => {
    const answer = inChunks(['{"a":', '"é\r\n"}']);
    const bytes = [...Buffer.from(answer)].map((byte) => Buffer.from([byte]));
    expect(read(bytes).bytes().toString()).toBe('{"a":"é\r\n"}');
  });

  it('passes over what stands behind the size of a chunk and behind the last one', () => {
    const answer = `${head('transfer-encoding: chunked')}3;name=value\r\nabc\r\n0\r\nTrailer: x\r\n\r\n`;
    expect(
      read([Buffer.from(answer)])
        .bytes()
        .toString(),
    ).toBe('abc');
  });

  it('says that it is the last one of its connection', () => {
    expect(read([Buffer.from(withLength('', 'Connection: close'))]).isLast).toBe(true);
  });

  it.each([
    ['no answer', 'HTTP/2 200 OK\r\n\r\n'],
    ['an answer without a length', head('Content-Type: text/plain')],
    ['a size that is none', `${head('transfer-encoding: chunked')}x\r\n`],
    ['a chunk that is longer than it says', `${head('transfer-encoding: chunked')}1\r\nab\r\n`],
    ['more than was asked', `${withLength('{}')}HTTP`],
  ])('is refused: %s', (_, answer) => {
    expect(() => new AnswerReader().push(Buffer.from(answer))).toThrow();
  });
});

describe('the client', () => {
  const ends: (() => unknown)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });

  /** A server that does with each whole request what the next of `answers` says; requests are kept, by connection. */
  async function serve(
    ...answers: ((socket: Socket) => void)[]
  ): Promise<{ url: string; asked: string[][] }> {
    const asked: string[][] = [];
    const sockets = new Set<Socket>();
    const server: Server = createServer((socket) => {
      const requests: string[] = [];
      asked.push(requests);
      sockets.add(socket);
      socket.setEncoding('utf8').on('error', () => {});
      let text = '';
      socket.on('data', (piece) => {
        text += piece;
        const length = Number(/content-length: (\d+)/.exec(text)?.[1] ?? 0);
        const end = text.indexOf('\r\n\r\n') + 4;
        if (end < 4 || Buffer.byteLength(text.slice(end)) < length) return;
        requests.push(text);
        text = '';
        answers.shift()!(socket);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ends.push(() => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(resolve));
    });
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
  }

  function clientOf(url: string): HttpClient {
    const client = new HttpClient(url);
    ends.push(() => client.close());
    return client;
  }

  const says = (answer: string) => (socket: Socket) => void socket.write(answer);

  it('asks one thing after the other on one connection, and two at once on two', async () => {
    const { url, asked } = await serve(
      says(withLength('{"n":1}')),
      says(inChunks(['{"n"', ':2}'])),
      (first) => {
        // The other one is asked meanwhile.
        later = () => first.write(withLength('{"n":3}'));
      },
      (second) => {
        second.write(withLength('{"n":4}'));
        later();
      },
    );
    let later = (): unknown => undefined;
    const client = clientOf(url.replace('//', '//me:a%20b@'));
    expect(await client.call('GET', '/a')).toEqual({ n: 1 });
    expect(await client.call('PUT', '/b', { text: 'é' })).toEqual({ n: 2 });
    const both = await Promise.all([client.call('GET', '/c'), client.call('GET', '/d')]);
    expect(both.map(({ n }) => n).sort()).toEqual([3, 4]);
    expect(asked.map((requests) => requests.length)).toEqual([3, 1]);
    const [first, second] = asked[0]!;
    expect(first).toMatch(/^GET \/a HTTP\/1\.1\r\nhost: 127\.0\.0\.1:\d+\r\n/);
    expect(first).toContain(`authorization: Basic ${btoa('me:a b')}\r\n`);
    expect(second).toMatch(/content-length: 13\r\n\r\n\{"text":"é"\}$/);
  });

  it('says what an answer of an error says, and goes on with the connection', async () => {
    const refused = withLength('{"error":"conflict"}').replace('200 OK', '409 Conflict');
    const { url, asked } = await serve(says(refused), says(withLength('{}')));
    const client = clientOf(url);
    await expect(client.call('PUT', '/a', {})).rejects.toThrow('PUT /a: 409 {"error":"conflict"}');
    expect(await client.call('GET', '/a')).toEqual({});
    expect(asked).toHaveLength(1);
  });

  it('takes another connection after the last answer of one', async () => {
    const { url, asked } = await serve(says(withLength('{}', 'Connection: close')), says(withLength('{}')));
    const client = clientOf(url);
    await client.call('GET', '/a');
    await client.call('GET', '/b');
    expect(asked.map((requests) => requests.length)).toEqual([1, 1]);
  });

  it('rejects when the connection closes in the middle of an answer, and takes another', async () => {
    const { url } = await serve(
      (socket) => socket.end(withLength('{"n":1}').slice(0, -2)),
      says(withLength('{}')),
    );
    const client = clientOf(url);
    await expect(client.call('GET', '/a')).rejects.toThrow('The server closed the connection');
    expect(await client.call('GET', '/a')).toEqual({});
  });

  it('rejects what is no answer, and where nobody listens', async () => {
    const { url } = await serve(says('HELLO\r\n\r\n'));
    await expect(clientOf(url).call('GET', '/')).rejects.toThrow('No answer: HELLO');
    for (const end of ends.splice(0).reverse()) await end();
    await expect(clientOf(url).call('GET', '/')).rejects.toThrow('ECONNREFUSED');
  });

  it('refuses other protocols', () => {
    expect(() => new HttpClient('https://localhost')).toThrow(TypeError);
  });
});
