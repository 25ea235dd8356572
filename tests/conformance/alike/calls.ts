/**
 * Calls of a database by chance: of each method, with options that go together and some that do not. They are data, so that several
 * databases can be asked the same. Revisions are those that were answered before, mostly.
 */
import { Random } from '../../replication/random';
import { selector } from './selectors';
import { anyValue, IDS } from './values';

export type Call = readonly [verb: string, ...given: unknown[]];

export const DESIGN = {
  _id: '_design/d',
  language: 'javascript',
  views: {
    sums: { map: 'function (doc) { emit(doc.k, doc.n); }', reduce: '_stats' },
    links: { map: 'function (doc) { if (doc.n) emit([doc.k, doc.n], { _id: doc.link }); }' },
  },
  filters: { some: 'function (doc) { return doc.n > 2; }' },
};

const UNKNOWN = ['1-abc', '2-00000000000000000000000000000000', '1-x'];
const INDEXES = [
  { index: { fields: ['k'] }, name: 'k', ddoc: 'k' },
  { index: { fields: ['n', 'k'] } },
  { index: { fields: [{ k: 'desc' }] }, name: 'down' },
  { index: { fields: ['k'], partial_filter_selector: { n: { $gt: 1 } } }, ddoc: 'some' },
  { index: { fields: [] } },
  {},
];
const SORTS = [['k'], [{ n: 'desc' }], ['k', 'n'], [{ _id: 'desc' }], [{ k: 'asc' }, { n: 'desc' }]];

/** Of each option that a call may have: how likely it is, and its values. */
type Options = Readonly<Record<string, readonly [chance: number, value: () => unknown]>>;

export class Calls {
  readonly #random: Random;
  readonly #revs = new Map<string, string[]>();
  readonly #kinds: readonly (() => Call)[];

  constructor(seed: number) {
    this.#random = new Random(seed);
    const [puts, lists] = [() => this.#put(), () => this.#allDocs()];
    this.#kinds = [
      ...[puts, puts, puts, lists, lists],
      ...[() => this.#bulk(), () => this.#foreign(), () => this.#remove(), () => this.#local()],
      ...[() => this.#get(), () => this.#changes(), () => this.#query(), () => this.#find()],
      ...[() => this.#index(), () => this.#attachment(), () => this.#exchange(), () => this.#purge()],
      () => ['compact'],
    ];
  }

  next(): Call {
    return this.#random.pick(this.#kinds)();
  }

  /** Takes the revisions out of an answer, or out of what was written as it is. */
  heard(answer: unknown): void {
    if (typeof answer !== 'object' || answer === null) return;
    if (Array.isArray(answer)) {
      for (const each of answer) this.heard(each);
      return;
    }
    const { _id, id = _id, _rev, rev = _rev } = answer as Record<string, unknown>;
    if (typeof id !== 'string' || typeof rev !== 'string') return;
    const known = this.#revs.get(id) ?? [];
    this.#revs.set(id, [...known.filter((each) => each !== rev), rev]);
  }

  readonly #id = (): string => this.#random.pick(IDS);
  readonly #value = (): unknown => anyValue(this.#random);
  readonly #flag = (): boolean => this.#random.chance(0.7);
  readonly #key = (): unknown => (this.#random.chance(0.8) ? this.#id() : this.#value());
  readonly #of =
    (...list: readonly unknown[]) =>
    (): unknown =>
      this.#random.pick(list);

  #rev(id: string): string {
    const known = this.#revs.get(id) ?? [];
    return this.#random.pick(known.length === 0 || this.#random.chance(0.2) ? UNKNOWN : known);
  }

  #some(options: Options): Record<string, unknown> {
    const chosen = Object.entries(options).filter(([, [chance]]) => this.#random.chance(chance));
    return Object.fromEntries(chosen.map(([name, [, value]]) => [name, value()]));
  }

  #list<T>(length: number, each: () => T): T[] {
    return Array.from({ length }, each);
  }

  #doc(): object {
    const _id = this.#id();
    const newest = this.#revs.get(_id)?.at(-1) ?? '';
    const file = { content_type: 'text/plain', data: this.#random.pick(['', 'aGk=', 'AAAA']) };
    const more = this.#some({
      k: [0.9, this.#value],
      n: [0.9, this.#value],
      link: [0.3, this.#id],
      _deleted: [0.1, () => true],
      _attachments: [0.1, () => ({ [this.#random.pick(['f', 'g.txt', 'h/i'])]: file })],
    });
    const rev =
      newest !== '' && this.#random.chance(0.6)
        ? this.#random.pick([newest, newest, this.#rev(_id)])
        : undefined;
    return { _id, ...more, ...(rev !== undefined && { _rev: rev }) };
  }

  #put(): Call {
    return ['put', this.#doc()];
  }

  #bulk(): Call {
    return ['bulkDocs', this.#list(this.#random.below(5), () => this.#doc())];
  }

  /** A branch that was made elsewhere, mostly of a revision that is known. */
  #foreign(): Call {
    const _id = this.#id();
    const made = this.#list(1 + this.#random.below(3), () =>
      this.#list(32, () => this.#random.below(16).toString(16)).join(''),
    );
    const [, generation = '0', hash] = /^(\d+)-([0-9a-f]{32})$/.exec(this.#rev(_id)) ?? [];
    const ids = hash === undefined ? made : [...made, hash];
    const start = Number(generation) + made.length;
    const more = this.#some({ k: [0.9, this.#value], n: [0.9, this.#value], _deleted: [0.3, () => true] });
    const doc = { _id, ...more, _rev: `${start}-${ids[0]}`, _revisions: { start, ids } };
    this.heard(doc);
    return ['bulkDocs', [doc], { new_edits: false }];
  }

  #remove(): Call {
    const id = this.#id();
    return ['remove', id, this.#rev(id)];
  }

  #purge(): Call {
    const id = this.#id();
    return ['purge', id, this.#rev(id)];
  }

  #local(): Call {
    const rev = this.#random.chance(0.5) ? { _rev: this.#random.pick(['0-1', '0-2', '0-3', 'x']) } : {};
    return this.#random.chance(0.5)
      ? ['get', '_local/l']
      : ['put', { _id: '_local/l', n: this.#value(), ...rev }];
  }

  #get(): Call {
    const id = this.#random.chance(0.9) ? this.#id() : 'nobody';
    const flags = [
      'revs',
      'revs_info',
      'conflicts',
      'deleted_conflicts',
      'latest',
      'attachments',
      'local_seq',
    ];
    const options = this.#some({
      ...Object.fromEntries(flags.map((name) => [name, [0.2, this.#flag] as const])),
      rev: [0.25, () => this.#rev(id)],
      open_revs: [0.2, () => (this.#random.chance(0.5) ? 'all' : [this.#rev(id), this.#rev(id)])],
    });
    return ['get', id, options];
  }

  #rows(key: () => unknown): Record<string, unknown> {
    const keys = this.#random.chance(0.15)
      ? { keys: this.#list(this.#random.below(4), key) }
      : this.#some({ startkey: [0.25, key], endkey: [0.25, key], key: [0.1, key] });
    const options = this.#some({
      include_docs: [0.4, this.#flag],
      conflicts: [0.25, this.#flag],
      attachments: [0.1, this.#flag],
      descending: [0.25, this.#flag],
      inclusive_end: [0.25, this.#flag],
      update_seq: [0.1, this.#flag],
      limit: [0.25, this.#of(0, 1, 2, 5, 100)],
      skip: [0.25, this.#of(0, 1, 3)],
    });
    return { ...keys, ...options };
  }

  #allDocs(): Call {
    return ['allDocs', this.#rows(this.#key)];
  }

  #query(): Call {
    const more = this.#some({
      reduce: [0.5, this.#flag],
      group: [0.25, this.#flag],
      group_level: [0.15, this.#of(0, 1, 2)],
      startkey_docid: [0.1, this.#id],
    });
    const view = this.#random.pick(['d/sums', 'd/links', 'd/sums', 'd/links', 'd/none', 'none/sums']);
    return ['query', view, { ...this.#rows(this.#value), ...more }];
  }

  #changes(): Call {
    const options = this.#some({
      include_docs: [0.4, this.#flag],
      conflicts: [0.25, this.#flag],
      attachments: [0.1, this.#flag],
      descending: [0.25, this.#flag],
      limit: [0.25, this.#of(0, 1, 2, 5)],
      style: [0.25, this.#of('all_docs', 'main_only')],
      since: [0.3, this.#of(0, 'now')],
      doc_ids: [0.15, () => this.#list(2, this.#id)],
      selector: [0.15, () => selector(this.#random)],
      filter: [0.15, this.#of('d/some', 'd/none', 'none/some')],
    });
    return ['changes', options];
  }

  #find(): Call {
    const more = this.#some({
      sort: [0.4, this.#of(...SORTS)],
      fields: [0.3, this.#of(['_id'], ['k', 'n'], ['k.a', '_rev'], [])],
      limit: [0.25, this.#of(0, 1, 2, 5)],
      skip: [0.25, this.#of(0, 1, 2)],
    });
    return ['find', { selector: selector(this.#random), ...more }];
  }

  #index(): Call {
    if (this.#random.chance(0.3)) return ['getIndexes'];
    if (this.#random.chance(0.7)) return ['createIndex', this.#random.pick(INDEXES)];
    return ['deleteIndex', { ddoc: this.#random.pick(['k', '_design/some', 'none']), name: 'k' }];
  }

  #attachment(): Call {
    const [id, name] = [this.#id(), this.#random.pick(['f', 'g.txt', 'h/i', 'none'])];
    return this.#random.pick<Call>([
      ['getAttachment', id, name, this.#some({ rev: [0.3, () => this.#rev(id)] })],
      ['putAttachment', id, name, this.#rev(id), this.#random.pick(['aGk=', '', 'AAAA', '*']), 'text/plain'],
      ['removeAttachment', id, name, this.#rev(id)],
    ]);
  }

  /** What a replication asks. */
  #exchange(): Call {
    const asked = (): object => {
      const id = this.#id();
      return this.#random.chance(0.5) ? { id } : { id, rev: this.#rev(id) };
    };
    const id = this.#id();
    const flags = this.#some({
      revs: [0.4, this.#flag],
      latest: [0.2, this.#flag],
      attachments: [0.2, this.#flag],
    });
    return this.#random.chance(0.5)
      ? ['revsDiff', { [id]: this.#list(1 + this.#random.below(2), () => this.#rev(id)) }]
      : ['bulkGet', { docs: this.#list(1 + this.#random.below(3), asked), ...flags }];
  }
}
