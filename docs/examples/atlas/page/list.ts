/** The list of places: searched, narrowed to a kind, drawn as far as it is scrolled. */
import type { Catalogue, Entry, Kind } from './catalogue';
import { byId, element } from './dom';

/** Rows drawn at first, and more each time the end comes into sight. */
const ROWS_STEP = 200;
const KINDS: readonly (readonly [Kind | undefined, string])[] = [
  [undefined, 'All'],
  ['country', 'Countries'],
  ['city', 'Cities'],
  ['note', 'Notes'],
];

export class List {
  readonly #catalogue: Catalogue;
  readonly #onPick: (id: string) => void;
  readonly #search = byId<HTMLInputElement>('search');
  readonly #rows = byId('rows');
  #kind: Kind | undefined;
  #selected: string | undefined;
  #limit = ROWS_STEP;
  #found: readonly Entry[] = [];

  constructor(catalogue: Catalogue, onPick: (id: string) => void) {
    this.#catalogue = catalogue;
    this.#onPick = onPick;
    this.#search.addEventListener('input', () => this.#restart());
    this.#rows.addEventListener('scroll', () => this.#grow());
    this.#rows.addEventListener('keydown', (event) => this.#move(event));
  }

  select(id: string | undefined): void {
    this.#selected = id;
    this.draw();
  }

  /** Shows everything again, so that what is new is seen. */
  clear(): void {
    this.#search.value = '';
    this.#kind = undefined;
    this.#restart();
  }

  draw(): void {
    this.#found = this.#catalogue.find(this.#search.value, this.#kind);
    const focused = (document.activeElement as HTMLElement | null)?.dataset.id;
    byId('count').textContent =
      `${this.#found.length.toLocaleString('en')} of ${this.#catalogue.size.toLocaleString('en')} documents`;
    this.#drawKinds();
    const rows = this.#found.slice(0, this.#limit).map((entry) => this.#row(entry));
    if (rows.length === 0 && this.#catalogue.size > 0)
      rows.push(element('li', { class: 'none' }, 'No place has these words.'));
    this.#rows.replaceChildren(...rows);
    if (focused !== undefined) this.#button(focused)?.focus({ preventScroll: true });
  }

  #restart(): void {
    this.#limit = ROWS_STEP;
    this.#rows.scrollTop = 0;
    this.draw();
  }

  #row({ id, code, name, detail, conflicts }: Entry): HTMLElement {
    return element(
      'li',
      {},
      element(
        'button',
        {
          type: 'button',
          'data-id': id,
          'aria-current': id === this.#selected ? 'true' : undefined,
          click: () => this.#onPick(id),
        },
        element('span', { class: 'code', 'aria-hidden': 'true' }, code),
        element('span', { class: 'name' }, name),
        conflicts > 0 && element('span', { class: 'badge' }, `${conflicts + 1} versions`),
        element('span', { class: 'detail' }, detail),
      ),
    );
  }

  #drawKinds(): void {
    const chips = KINDS.flatMap(([kind, label]) => {
      const count = kind === undefined ? this.#catalogue.size : this.#catalogue.count(kind);
      if (count === 0) return [];
      const choose = (): void => {
        this.#kind = kind;
        this.#restart();
      };
      const pressed = String(kind === this.#kind);
      return [element('button', { type: 'button', 'aria-pressed': pressed, click: choose }, label)];
    });
    byId('kinds').replaceChildren(...(chips.length > 2 ? chips : []));
  }

  #grow(): void {
    const { scrollTop, clientHeight, scrollHeight } = this.#rows;
    if (this.#limit >= this.#found.length || scrollTop + 2 * clientHeight < scrollHeight) return;
    const more = this.#found.slice(this.#limit, this.#limit + ROWS_STEP);
    this.#limit += ROWS_STEP;
    this.#rows.append(...more.map((entry) => this.#row(entry)));
  }

  #move(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    const buttons = [...this.#rows.querySelectorAll<HTMLElement>('button')];
    const next = buttons[buttons.indexOf(document.activeElement as HTMLElement) + step];
    if (next === undefined) return;
    event.preventDefault();
    next.focus();
  }

  #button(id: string): HTMLElement | null {
    return this.#rows.querySelector(`[data-id="${CSS.escape(id)}"]`);
  }
}
