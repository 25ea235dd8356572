/**
 * Asking the database: a selector or a map function, how it is answered, and the answer, which stays current. Everything typed is
 * asked at once, and goes on living until something else is.
 */
import type { FieldPath, FindOptions, LiveQuery, MapFunction, SettleDB } from 'settledb';
import { attempt, byId, element } from './dom';
import type { Place } from './place';
import { type Example, MAPS, read, SELECTORS } from './questions';

type Mode = 'find' | 'query';

/** After the last key, so that not every letter is a question. */
const TYPING_MS = 250;
/** Rows shown; more make no better picture. */
const SHOWN = 100;

export class QueryPanel {
  readonly #db: SettleDB<Place>;
  readonly #open: (id: string) => void;
  readonly #text = element('textarea', {
    'aria-label': 'Question',
    spellcheck: 'false',
    rows: 7,
  }) as HTMLTextAreaElement;
  readonly #examples = element('div', { class: 'examples' });
  readonly #plan = element('div', { class: 'plan', role: 'status' });
  readonly #fields = element('input', {
    'aria-label': 'Fields of an index',
    placeholder: 'area',
  }) as HTMLInputElement;
  readonly #indexes = element('ul', { class: 'indexes' });
  readonly #count = element('p', { class: 'count', role: 'status' });
  readonly #rows = element('ol', { class: 'answer' });
  readonly #thrown = element('p', { class: 'warning thrown', role: 'status', hidden: true });
  readonly #box: HTMLElement;
  readonly #typed: Record<Mode, string> = { find: SELECTORS[0]!.text, query: MAPS[0]!.text };
  #mode: Mode = 'find';
  #leave: () => void = () => {};
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(db: SettleDB<Place>, open: (id: string) => void) {
    this.#db = db;
    this.#open = open;
    this.#box = this.#build();
    const toggle = (): void => (this.#box.hidden ? this.#begin() : this.close());
    byId('new').after(element('button', { id: 'ask', type: 'button', click: toggle }, 'Ask'));
    document.querySelector('.stage')!.append(this.#box); // the page has one
  }

  /** Asks no more, and lets be seen what is below. */
  close(): void {
    this.#leave();
    this.#leave = () => {};
    this.#box.hidden = true;
    byId('ask').setAttribute('aria-pressed', 'false');
  }

  #begin(): void {
    this.#box.hidden = false;
    byId('ask').setAttribute('aria-pressed', 'true');
    this.#choose(this.#mode);
    void attempt(() => this.#showIndexes());
  }

  /** On a small screen the panel covers the button that opened it. */
  #back(): void {
    this.close();
    byId('ask').focus();
  }

  #build(): HTMLElement {
    const tab = (mode: Mode, label: string): HTMLElement =>
      element('button', { type: 'button', 'data-mode': mode, click: () => this.#choose(mode) }, label);
    this.#text.addEventListener('input', () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#ask(), TYPING_MS);
    });
    const make = element('form', { class: 'make', submit: (event) => this.#make(event) });
    make.append(this.#fields, element('button', { type: 'submit' }, 'Create index'));
    return element(
      'section',
      { id: 'query', 'aria-label': 'Ask', hidden: true },
      element(
        'div',
        { class: 'asking' },
        element('button', { type: 'button', class: 'back', click: () => this.#back() }, '← Back'),
        element(
          'div',
          { class: 'tabs' },
          tab('find', 'Selector'),
          tab('query', 'Map function'),
          this.#examples,
        ),
        this.#text,
        this.#plan,
        this.#thrown,
        make,
        this.#indexes,
      ),
      element('div', { class: 'answering' }, this.#count, this.#rows),
    );
  }

  #choose(mode: Mode): void {
    if (mode !== this.#mode) this.#typed[this.#mode] = this.#text.value || this.#typed[this.#mode];
    this.#mode = mode;
    this.#box.dataset.mode = mode;
    this.#text.value = this.#typed[mode];
    const examples = mode === 'find' ? SELECTORS : MAPS;
    this.#examples.replaceChildren(...examples.map((example) => this.#example(example)));
    for (const tab of this.#box.querySelectorAll('[data-mode]'))
      tab.setAttribute('aria-pressed', String((tab as HTMLElement).dataset.mode === mode));
    this.#ask();
  }

  #example({ label, text }: Example): HTMLElement {
    const use = (): void => {
      this.#text.value = text;
      this.#ask();
    };
    return element('button', { type: 'button', click: use }, label);
  }

  #ask(): void {
    this.#leave();
    this.#leave = () => {};
    this.#thrown.hidden = true;
    try {
      const question = read(this.#text.value);
      this.#typed[this.#mode] = this.#text.value;
      if (this.#mode === 'find') this.#find({ selector: {}, limit: SHOWN, ...question });
      else this.#query(question);
    } catch (error) {
      this.#fail(error);
    }
  }

  #find(request: FindOptions<Place>): void {
    this.#follow(this.#db.live.find(request), async ({ docs }) => {
      this.#draw(
        docs.map((doc) => this.#place(doc)),
        docs.length,
        'place',
      );
      await this.#explain(request);
    });
  }

  #query({ map, reduce }: Record<string, unknown>): void {
    const view = { map: map as MapFunction, ...(reduce === undefined ? {} : { reduce: reduce as string }) };
    const live = this.#db.live.query(view, {
      limit: SHOWN,
      ...(reduce === undefined ? {} : { group: true }),
    });
    this.#plan.replaceChildren(
      element('p', {}, 'The function is called for every document, and asked again when one changes.'),
    );
    // A map that throws leaves its document out and says so on the database.
    const failed = (error: unknown): void => {
      this.#thrown.textContent = (error as Error).message;
      this.#thrown.hidden = false;
    };
    this.#db.on('error', failed);
    this.#follow(live, ({ rows }) => {
      const items = rows.map(({ id, key, value }) =>
        this.#row(id, JSON.stringify(key), value === null && id !== undefined ? id : JSON.stringify(value)),
      );
      this.#draw(items, rows.length, 'row');
    });
    const leave = this.#leave;
    this.#leave = () => {
      this.#db.off('error', failed);
      leave();
    };
  }

  /** Draws each result, and says how often there was another. */
  #follow<Result>(live: LiveQuery<Result>, draw: (result: Result) => void | Promise<void>): void {
    let results = 0;
    this.#box.classList.remove('failed');
    this.#leave = live.subscribe({
      next: (result) => {
        results += 1;
        this.#count.dataset.results = String(results);
        void attempt(async () => draw(result));
      },
      error: (error) => this.#fail(error),
    });
  }

  #draw(items: readonly HTMLElement[], count: number, what: string): void {
    const results = Number(this.#count.dataset.results);
    const often = results > 1 ? ` · changed ${results - 1}×` : '';
    this.#count.textContent = `${count}${count === SHOWN ? '+' : ''} ${what}${count === 1 ? '' : 's'} · live${often}`;
    const none = element(
      'li',
      { class: 'none' },
      `No ${what} yet. What comes to match appears here by itself.`,
    );
    this.#rows.replaceChildren(...(items.length === 0 ? [none] : items));
  }

  #place(doc: Place & { readonly _id: string }): HTMLElement {
    const { name, region, country, area } = doc;
    const detail = [region ?? country, area && `${area.toLocaleString('en')} km²`]
      .filter(Boolean)
      .join(' · ');
    return this.#row(doc._id, name ?? doc._id, detail);
  }

  #row(id: string | undefined, name: string, detail: string): HTMLElement {
    const parts = [element('span', { class: 'name' }, name), element('span', { class: 'detail' }, detail)];
    if (id === undefined) return element('li', {}, ...parts);
    return element(
      'li',
      {},
      element('button', { type: 'button', 'data-found': id, click: () => this.#open(id) }, ...parts),
    );
  }

  async #explain(request: FindOptions<Place>): Promise<void> {
    const [explanation, { execution_stats: stats, warning }] = await Promise.all([
      this.#db.explain(request),
      this.#db.find({ ...request, execution_stats: true }),
    ]);
    const { index, plan } = explanation as typeof explanation & { plan: { steps: readonly string[] } };
    const looked =
      stats && `${stats.total_docs_examined} documents looked at in ${stats.execution_time_ms.toFixed(1)} ms`;
    this.#plan.dataset.index = index.name;
    this.#plan.replaceChildren(
      element(
        'p',
        {},
        element('b', {}, index.ddoc === null ? 'All documents' : `Index ${namesOf(index)}`),
        looked && ` · ${looked}`,
      ),
      // A name that was made up tells nothing that its fields do not.
      ...plan.steps.map((step) => element('code', {}, step.replace(/_design\/(idx-\w+)\/\1/g, 'the index'))),
      ...(warning?.split('\n') ?? []).map((line) => element('p', { class: 'warning' }, line)),
    );
    const [, wanted] = /index on (\[.*\]) would/.exec(warning ?? '') ?? [];
    this.#fields.placeholder = wanted === undefined ? 'area' : (JSON.parse(wanted) as string[]).join(', ');
  }

  async #showIndexes(): Promise<void> {
    const { indexes } = await this.#db.getIndexes();
    const made = indexes.filter(({ ddoc }) => ddoc !== null);
    this.#indexes.replaceChildren(
      ...made.map((each) => {
        const remove = (): void => this.#change(() => this.#db.deleteIndex(each));
        return element(
          'li',
          {},
          namesOf(each),
          element('button', { type: 'button', title: 'Delete this index', click: remove }, '×'),
        );
      }),
    );
  }

  /** Makes or deletes an index: the same documents may now be found another way. */
  #change(work: () => Promise<unknown>): void {
    void attempt(async () => {
      await work();
      await this.#showIndexes();
      this.#ask();
    });
  }

  #make(event: Event): void {
    event.preventDefault();
    // Left empty, the one that the question would be helped by.
    const { value, placeholder } = this.#fields;
    const fields = (value.trim() === '' ? placeholder : value)
      .split(',')
      .map((name) => name.trim())
      .filter((name): name is FieldPath<Place> => name !== ''); // Any name will do; what no place has finds nothing.
    this.#change(async () => {
      await this.#db.createIndex({ index: { fields } });
      this.#fields.value = '';
    });
  }

  #fail(error: unknown): void {
    this.#box.classList.add('failed');
    this.#plan.replaceChildren(element('p', { class: 'warning' }, (error as Error).message));
    this.#count.textContent = '';
    this.#rows.replaceChildren();
  }
}

const namesOf = ({ def }: { readonly def: { readonly fields: readonly object[] } }): string =>
  def.fields.map((field) => Object.keys(field)[0]).join(', ');
