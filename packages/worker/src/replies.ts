/** What a session sends to its page: answers, in parts that suit, joined to messages that can cross. */
import { type BulkDocsRow, badRequest } from '@settledb/core';
import { flatRows, inParts, isJsonAnswer, messageOf, transferables } from './answers';
import { cloneable, encodeError } from './errors';
import { keepForAWhile } from './kept-blobs';
import { type Later, Outbox } from './outbox';
import { jsonOf, type Out, parsed } from './said';
import { bringsData } from './verbs';
import { type Endpoint, type HostOp, LIST } from './wire';

/**
 * Microtasks without a further answer after which answers are sent, while other calls are under way: the answers of one commit come
 * within a few. The last answer does not wait.
 */
const HOPS = 8;

/** Characters of documents that fill a message: the page parses them in about a quarter of a millisecond. */
const MESSAGE_LENGTH = 64 * 1024;

/**
 * Characters of documents in one part of a long answer: the page parses them in some ten ms; and a text has less than 512 MB.
 */
const TEXTS_LENGTH = 2 * 1024 * 1024;

/** Operations that are an answer, or a part of one. */
const ANSWERING: ReadonlySet<Out[0]> = new Set(['ok', 'json', 'text', 'no', 'part', 'rows', 'message']);

const NONE: readonly Out[] = [];

interface RepliesOptions {
  /** See `HostContext`. */
  readonly own: boolean;
  /** Whether nothing is sent any more. */
  isShut(): boolean;
  /** A message went. */
  sent(): void;
  /** An item of the feed `id` cannot cross: the page was told that it ended. */
  unfit(id: number): void;
}

export class Replies {
  readonly #endpoint: Endpoint;
  readonly #options: RepliesOptions;
  readonly #outbox: Outbox<Out>;
  /** Operations that may hold bytes, Blobs or streams. */
  readonly #bringing = new WeakSet<Out>();
  /** Characters of documents answered since a message was last full. */
  #length = 0;

  constructor(endpoint: Endpoint, options: RepliesOptions) {
    this.#endpoint = endpoint;
    this.#options = options;
    this.#outbox = new Outbox((ops) => this.#post(ops), HOPS);
  }

  /** @param brings whether there may be bytes in it */
  add(op: Out, brings = false): void {
    if (brings) this.#bringing.add(op);
    this.#outbox.add(op);
  }

  /** Sends all that waits at once. */
  flush(): void {
    this.#outbox.flush();
  }

  /** Sends an answer, or the rest of it. @param waits for answers of other calls; the page parses while more is made */
  addLast(op: Out, waits: boolean): void {
    if (op[0] === 'text') this.#length += op[2].length;
    const isFull = this.#length >= MESSAGE_LENGTH;
    if (isFull) this.#length = 0;
    if (isFull || !waits) this.#outbox.addLast(op);
    else this.#outbox.add(op);
  }

  /** Sends long lists part by part, so that the page parses one while the next is made. @returns the rest of the answer */
  addValue(id: number, verb: string, args: readonly unknown[], answer: unknown): Out {
    const isJson = this.#options.own && isJsonAnswer(verb, args);
    const { value, parts, list } = inParts(answer);
    const brings = bringsData(verb, args);
    const bringing = (op: Out): Out => {
      if (brings) this.#bringing.add(op);
      return op;
    };
    for (const part of parts) {
      const made = (): unknown[] | string => (isJson ? JSON.stringify(part) : (part as unknown[]));
      this.#addLater(id, () => bringing(['part', id, made()]));
    }
    const ok = isJson ? 'json' : 'ok';
    return bringing(list === undefined ? [ok, id, value] : [ok, id, value, list]);
  }

  /** In longer parts, because each row holds less. One part goes with the rest of the answer. @returns that rest */
  addWritten(id: number, answer: readonly BulkDocsRow[]): Out {
    for (let at = 0; at < answer.length; at += LIST) {
      const rows = answer.slice(at, at + LIST);
      const made = (): Out => ['rows', id, flatRows(rows)];
      if (answer.length > LIST) this.#addLater(id, made);
      else this.#outbox.add(made());
    }
    return ['json', id, [], ''];
  }

  /** In parts too; the last one goes with the rest of the answer. */
  addTexts(id: number, answer: object): void {
    const { value, parts, list } = inParts(answer, 0, TEXTS_LENGTH);
    const ok = JSON.stringify(['json', id, value, list!] satisfies HostOp);
    for (const [at, part] of parts.entries()) {
      const more = at === parts.length - 1 ? ok : undefined;
      this.#addLater(id, () => ['message', id, messageOf(id, part, more)]);
    }
  }

  /** If a part cannot be made, the call is refused, and what else comes of it is of no use any more. */
  #addLater(id: number, make: Later<Out>): void {
    this.#outbox.add(() => {
      try {
        return make();
      } catch (cause) {
        return ['no', id, uncrossable(cause)];
      }
    });
  }

  /** @param asText if they can be */
  #post(ops: readonly Out[], asText = true): void {
    if (this.#options.isShut()) return;
    try {
      const text = asText ? jsonOf(ops) : undefined;
      const bringing = text === undefined ? ops.filter((op) => this.#bringing.has(op)) : NONE;
      this.#endpoint.postMessage(text ?? ops.flatMap(parsed), broughtBy(bringing));
      if (bringing.length > 0) keepForAWhile(bringing);
      this.#options.sent();
    } catch (error) {
      if (ops.length > 1) for (const op of ops) this.#post([op]);
      // A text has less than 512 MB; what is cloned has no such bound.
      else if (asText) this.#post(ops, false);
      else this.#refused(ops[0]!, error);
    }
  }

  /** A verb's answer, a part of it, or an item of a feed cannot cross: what else comes of that call is of no use any more. */
  #refused(op: Out, cause: unknown): void {
    const error = uncrossable(cause);
    if (ANSWERING.has(op[0])) this.#endpoint.postMessage([['no', op[1], error]]);
    if (op[0] !== 'end' && op[0] !== 'items') return;
    const items = op[0] === 'items' ? withCloneableDocs(op[2]) : undefined;
    if (items === undefined) this.#options.unfit(op[1]);
    this.#endpoint.postMessage([items === undefined ? ['end', op[1], { error }] : ['items', op[1], items]]);
  }
}

/**
 * What exactly these operations hold: what is transferred with a message that does not contain it is lost. What a feed tells is left as it
 * is, since others may follow the same one.
 */
function broughtBy(ops: readonly Out[]): Transferable[] {
  const brought = ops.filter(([kind]) => ANSWERING.has(kind)).flatMap(([, , value]) => transferables(value));
  return [...new Set(brought)];
}

const uncrossable = (cause: unknown): ReturnType<typeof encodeError> =>
  encodeError(badRequest(`An answer could not cross from the worker: ${cause}`));

/** Items of a replication without the documents that cannot cross: it does not need them. `undefined`: of another feed. */
function withCloneableDocs(items: readonly unknown[]): readonly unknown[] | undefined {
  const crossing = items.map((item) => {
    const { docs } = (item ?? {}) as { docs?: unknown };
    return Array.isArray(docs) ? { ...(item as object), docs: docs.filter(cloneable) } : item;
  });
  return crossing.every(cloneable) ? crossing : undefined;
}
