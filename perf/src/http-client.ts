/**
 * A client that takes little of the machine, so that the server is what is measured: sockets that are kept, one request under way on
 * each, whose bytes may be made before. Node's own client takes as much CPU for a small call as a quick server, `fetch` several times as much.
 *
 * It reads answers with a length or in chunks, and nothing else; whatever it did not expect is an error.
 */
import { connect, type Socket } from 'node:net';

/** ms a kept connection may have been idle: Node's servers close them after 5 s, and a request must not cross that. */
const MAX_IDLE_MS = 3_000;
/** ms without a byte: no case waits so long. */
const TIMEOUT_MS = 120_000;

/** Bytes that are read of a socket at a time: as many as Node itself reads. */
const READ_BYTES = 64 * 1024;
const EMPTY = Buffer.alloc(0);
const LINE_END = '\r\n';

/** A request as it is sent, any number of times. */
export interface Prepared {
  /** Method and path. */
  readonly what: string;
  readonly bytes: Buffer;
}

export class HttpClient {
  readonly #host: string;
  readonly #port: number;
  readonly #path: string;
  readonly #head: string;
  /** The one used last first. */
  readonly #idle: Connection[] = [];

  /** @param url `http://[name:password@]host:port[/path]`; @throws TypeError for any other */
  constructor(url: string) {
    const { protocol, hostname, port, pathname, username, password } = new URL(url);
    if (protocol !== 'http:') throw new TypeError(`Only http is spoken here, not ${protocol}`);
    this.#host = hostname.replace(/^\[|\]$/g, '');
    this.#port = Number(port || 80);
    this.#path = pathname.replace(/\/$/, '');
    const given = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    const authorization = given === ':' ? '' : `authorization: Basic ${btoa(given)}${LINE_END}`;
    this.#head = ` HTTP/1.1${LINE_END}host: ${hostname}:${this.#port}${LINE_END}accept: application/json${LINE_END}${authorization}`;
  }

  prepare(method: string, path: string, body?: object): Prepared {
    const text = body === undefined ? '' : JSON.stringify(body);
    const about =
      body === undefined
        ? LINE_END
        : `content-type: application/json${LINE_END}content-length: ${Buffer.byteLength(text)}${LINE_END}${LINE_END}`;
    const bytes = Buffer.from(`${method} ${this.#path}${path}${this.#head}${about}${text}`);
    return { what: `${method} ${path}`, bytes };
  }

  /** The body that is answered. @throws Error for a status of 400 or more, and for what is no answer */
  async send({ what, bytes }: Prepared): Promise<Buffer> {
    const connection = this.#take() ?? (await Connection.open(this.#host, this.#port, TIMEOUT_MS));
    const answered = await connection.ask(bytes);
    if (connection.isOpen) this.#idle.push(connection);
    if (answered.status >= 400) throw new Error(`${what}: ${answered.status} ${answered.bytes().toString()}`);
    return answered.bytes();
  }

  /** The JSON that is answered. @throws Error as {@link send} */
  async call(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
    return readAnswer(await this.send(this.prepare(method, path, body)));
  }

  /** Closes what is kept. */
  close(): void {
    for (const connection of this.#idle.splice(0)) connection.end();
  }

  #take(): Connection | undefined {
    for (let kept = this.#idle.pop(); kept !== undefined; kept = this.#idle.pop()) {
      if (kept.isOpen && performance.now() - kept.usedAt < MAX_IDLE_MS) return kept;
      kept.end();
    }
    return undefined;
  }
}

export const readAnswer = (bytes: Buffer): Record<string, unknown> =>
  JSON.parse(bytes.toString()) as Record<string, unknown>;

class Connection {
  readonly #socket: Socket;
  #reader = new AnswerReader();
  #waiting:
    | { readonly resolve: (answer: AnswerReader) => void; readonly reject: (error: Error) => void }
    | undefined;
  isOpen = true;
  usedAt = 0;

  static open(host: string, port: number, timeout: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      let connection: Connection | undefined;
      const socket = connect(
        {
          host,
          port,
          noDelay: true,
          timeout,
          // Without the stream that is otherwise made of what is read, a third of what a small request takes.
          onread: {
            buffer: Buffer.allocUnsafe(READ_BYTES),
            callback(length, buffer) {
              connection?.read(Buffer.from(buffer.subarray(0, length)));
              return true;
            },
          },
        },
        () => {
          socket.off('error', reject);
          connection = new Connection(socket);
          resolve(connection);
        },
      );
      socket.once('error', reject);
    });
  }

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('error', (error) => this.#fail(error));
    socket.on('timeout', () => this.#fail(new Error('The server stopped answering')));
    socket.on('close', () => this.#fail(new Error('The server closed the connection')));
  }

  ask(request: Buffer): Promise<AnswerReader> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#socket.write(request);
    });
  }

  end(): void {
    this.isOpen = false;
    this.#socket.destroy();
  }

  read(piece: Buffer): void {
    const reader = this.#reader;
    try {
      if (this.#waiting === undefined) throw new Error('The server said something that was not asked');
      if (!reader.push(piece)) return;
    } catch (error) {
      this.#fail(error as Error);
      return;
    }
    const { resolve } = this.#waiting;
    this.#waiting = undefined;
    this.#reader = new AnswerReader();
    this.usedAt = performance.now();
    if (reader.isLast) this.end();
    resolve(reader);
  }

  #fail(error: Error): void {
    this.end();
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }
}

/** One answer, as its pieces arrive. */
export class AnswerReader {
  status = 0;
  /** The connection ends with it. */
  isLast = false;
  #rest: Buffer = EMPTY;
  /** What the next bytes are: the head; the size of a chunk; the line end behind one; what may follow the last chunk; the body. */
  #next: 'head' | 'size' | 'line' | 'trailers' | 'body' | 'nothing' = 'head';
  /** Bytes of the body, or of this chunk of it, that are to come. */
  #left = 0;
  #isChunked = false;
  readonly #pieces: Buffer[] = [];

  /** @returns whether that was all of it @throws Error for what is no answer, or more than one */
  push(piece: Buffer): boolean {
    this.#rest = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    while (this.#next !== 'nothing' && this.#step()) {}
    if (this.#next === 'nothing' && this.#rest.length > 0)
      throw new Error('More was answered than was asked');
    return this.#next === 'nothing';
  }

  bytes(): Buffer {
    return this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces);
  }

  /** @returns false where more bytes are needed */
  #step(): boolean {
    if (this.#next === 'body') return this.#readBody();
    const end = this.#rest.indexOf(this.#next === 'head' ? '\r\n\r\n' : LINE_END);
    if (end < 0) return false;
    const text = this.#rest.toString('latin1', 0, end);
    this.#rest = this.#rest.subarray(end + (this.#next === 'head' ? 4 : 2));
    if (this.#next === 'head') this.#readHead(text);
    else if (this.#next === 'size') this.#readSize(text);
    else if (this.#next === 'line' && text === '') this.#next = 'size';
    else if (this.#next === 'trailers') this.#next = text === '' ? 'nothing' : 'trailers';
    else throw new Error('A chunk is longer than it says');
    return true;
  }

  #readHead(head: string): void {
    const [, status] = /^HTTP\/1\.1 ([2-5]\d\d) /.exec(head) ?? [];
    if (status === undefined) throw new Error(`No answer: ${head.slice(0, 80)}`);
    this.status = Number(status);
    this.isLast = /\r\nconnection: *close/i.test(head);
    const [, length] = /\r\ncontent-length: *(\d+) *(?:\r\n|$)/i.exec(head) ?? [];
    this.#isChunked = length === undefined && /\r\ntransfer-encoding: *chunked/i.test(head);
    if (length !== undefined) this.#expect(Number(length));
    else if (this.#isChunked) this.#next = 'size';
    else throw new Error(`An answer without a length: ${head}`);
  }

  #readSize(line: string): void {
    if (!/^[0-9a-f]{1,8}(;|$)/i.test(line)) throw new Error(`No size of a chunk: ${line.slice(0, 80)}`);
    const size = Number.parseInt(line, 16);
    if (size === 0) this.#next = 'trailers';
    else this.#expect(size);
  }

  #expect(length: number): void {
    this.#left = length;
    this.#next = length === 0 ? 'nothing' : 'body';
  }

  #readBody(): boolean {
    const piece = this.#rest.length > this.#left ? this.#rest.subarray(0, this.#left) : this.#rest;
    if (piece.length === 0) return false;
    this.#pieces.push(piece);
    this.#rest = this.#rest.subarray(piece.length);
    this.#left -= piece.length;
    if (this.#left === 0) this.#next = this.#isChunked ? 'line' : 'nothing';
    return true;
  }
}
