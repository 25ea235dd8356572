/**
 * One document: its fields to edit, its revision tree, its conflicts. What was typed and not saved is kept while the page is
 * open, whatever else is looked at.
 */
import type { ExistingDoc, SettleDB } from 'settledb';
import { conflictCards, differences } from './conflicts';
import { attempt, byId, element, notice } from './dom';
import { FIELDS, type Place } from './place';
import { readLeaves, treePicture } from './tree';

type Field = (typeof FIELDS)[number];

/** What was typed into a document, and the revision it was typed into. */
interface Draft {
  readonly base: ExistingDoc<Place>;
  readonly values: Record<string, string>;
}

export class Editor {
  onOpen: (id: string | undefined) => void = () => {};
  readonly #db: SettleDB<Place>;
  readonly #box = byId('document');
  readonly #drafts = new Map<string, Draft>();
  #doc: ExistingDoc<Place> | undefined;
  /** What is being written: that change is not somebody else's. */
  #saving: Promise<unknown> = Promise.resolve();

  constructor(db: SettleDB<Place>) {
    this.#db = db;
    addEventListener('beforeunload', (event) => {
      if (this.#drafts.size > 0) event.preventDefault();
    });
  }

  get id(): string | undefined {
    return this.#doc?._id;
  }

  /** Is there anything typed and not saved? */
  get hasDrafts(): boolean {
    return this.#drafts.size > 0;
  }

  async open(id: string): Promise<void> {
    await attempt(async () => {
      const doc = await this.#read(id);
      this.#show(doc);
      this.#box.hidden = false;
      this.#box.scrollTop = 0;
      this.onOpen(id);
      await this.#drawTree();
    });
  }

  close(): void {
    this.#doc = undefined;
    this.#box.hidden = true;
    this.onOpen(undefined);
  }

  /** The document changed elsewhere. What is being typed stays; the tree, and the difference, are shown. */
  async refresh(): Promise<void> {
    const id = this.#doc?._id;
    if (id === undefined) return;
    await attempt(async () => {
      await this.#saving;
      const current = await this.#read(id).catch(() => undefined);
      if (this.#doc?._id !== id) return;
      if (current === undefined) return this.close();
      const draft = this.#drafts.get(id);
      // Shown anew the form would lose the cursor, and a key that is pressed just then.
      if (draft !== undefined && draft.base._rev !== current._rev) this.#showMeanwhile(draft, current);
      if (draft === undefined && JSON.stringify(this.#doc) !== JSON.stringify(current)) this.#show(current);
      await this.#drawTree();
    });
  }

  async create(): Promise<void> {
    await attempt(async () => {
      const { id } = await this.#db.post({
        _id: `note:${crypto.randomUUID()}`,
        type: 'note',
        name: 'A new place',
      });
      await this.open(id);
      this.#box.querySelector<HTMLInputElement>('[name="name"]')?.select();
    });
  }

  #read(id: string): Promise<ExistingDoc<Place>> {
    return this.#db.get(id, { conflicts: true });
  }

  #show(doc: ExistingDoc<Place>): void {
    this.#doc = doc;
    const draft = this.#drafts.get(doc._id);
    this.#box.classList.toggle('edited', draft !== undefined);
    this.#box.replaceChildren(
      element('button', { type: 'button', class: 'back', click: () => this.close() }, '← The map'),
      element('h2', {}, doc.name),
      element(
        'p',
        { class: 'ids' },
        element('code', {}, doc._id),
        ' ',
        element('code', { class: 'current-rev' }, doc._rev),
      ),
      element('div', { class: 'meanwhile' }),
      this.#form(doc, draft),
      element('h3', {}, 'Revisions'),
      element('div', { class: 'revisions' }),
      element('ul', { class: 'conflicts' }),
      element(
        'details',
        {},
        element('summary', {}, 'The whole document'),
        element('pre', {}, JSON.stringify(doc, null, 2)),
      ),
    );
    if (draft !== undefined && draft.base._rev !== doc._rev) this.#showMeanwhile(draft, doc);
  }

  #form(doc: ExistingDoc<Place>, draft: Draft | undefined): HTMLElement {
    const fields = FIELDS.filter((field) => field in doc || field === 'name' || field === 'notes');
    return element(
      'form',
      {
        submit: (event) => {
          event.preventDefault();
          void attempt(() => this.#save());
        },
        input: () => this.#keepDraft(),
      },
      ...fields.map((field) => input(field, draft?.values[field] ?? String(doc[field] ?? ''))),
      element(
        'div',
        { class: 'buttons' },
        element('button', { type: 'submit', class: 'primary' }, 'Save'),
        element('button', { type: 'button', class: 'revert', click: () => this.#revert() }, 'Revert'),
        element('button', { type: 'button', click: () => void attempt(() => this.#remove()) }, 'Delete'),
        element('span', { class: 'unsaved' }, 'not saved yet'),
      ),
    );
  }

  #keepDraft(): void {
    const form = this.#box.querySelector('form');
    const doc = this.#doc;
    if (doc === undefined || form === null) return;
    const base = this.#drafts.get(doc._id)?.base ?? doc;
    this.#drafts.set(doc._id, { base, values: valuesOf(form) });
    this.#box.classList.add('edited');
  }

  #revert(): void {
    const doc = this.#doc;
    if (doc === undefined) return;
    this.#drafts.delete(doc._id);
    void this.open(doc._id);
  }

  /** One after the other: the second one edits what the first one wrote. */
  #save(): Promise<void> {
    const save = this.#saving.then(() => this.#write());
    this.#saving = save.catch(() => {}); // Who asked is told.
    return save;
  }

  async #write(): Promise<void> {
    const doc = this.#doc;
    const draft = doc && this.#drafts.get(doc._id);
    if (doc === undefined || draft === undefined) return;
    const content = edited(draft.base, draft.values);
    let rev: string;
    try {
      ({ rev } = await this.#db.put(content));
    } catch (error) {
      if ((error as { status?: number }).status !== 409) throw error;
      this.#showMeanwhile(draft, await this.#read(doc._id));
      return;
    }
    const typed = this.#drafts.get(doc._id);
    const isAll = typed === draft;
    if (isAll) this.#drafts.delete(doc._id);
    else if (typed !== undefined)
      this.#drafts.set(doc._id, { base: { ...content, _rev: rev }, values: typed.values });
    const saved = await this.#read(doc._id);
    if (this.#doc?._id !== doc._id) return;
    if (isAll) this.#show(saved);
    else this.#keepTyping(saved);
    await this.#drawTree();
    if (isAll) this.#box.querySelector<HTMLElement>('button[type="submit"]')?.focus({ preventScroll: true });
  }

  /** It was saved while more was typed: the form stays as it is, with the cursor in it. */
  #keepTyping(saved: ExistingDoc<Place>): void {
    this.#doc = saved;
    const shown = this.#box.querySelector('.current-rev');
    if (shown !== null) shown.textContent = saved._rev;
  }

  /** Somebody saved while this was being typed: theirs beside ours, and the choice. */
  #showMeanwhile({ base, values }: Draft, current: ExistingDoc<Place>): void {
    const mine = edited(base, values);
    const keep = (): void => {
      this.#drafts.set(current._id, { base: current, values });
      void attempt(() => this.#save());
    };
    this.#box
      .querySelector('.meanwhile')
      ?.replaceChildren(
        element('p', {}, element('b', {}, 'Somebody saved this place while you were typing.')),
        ...differences(current, mine),
        element('button', { type: 'button', class: 'primary', click: keep }, 'Save mine on top'),
        element('button', { type: 'button', click: () => this.#revert() }, 'Take theirs'),
      );
  }

  async #remove(): Promise<void> {
    const doc = this.#doc;
    if (doc === undefined) return;
    const { rev } = await this.#db.remove(doc._id, doc._rev);
    this.#drafts.delete(doc._id);
    this.close();
    notice(`${doc.name} was deleted.`, {
      label: 'Undo',
      run: () =>
        void attempt(async () => {
          const { _conflicts, ...content } = doc;
          await this.#db.put({ ...content, _rev: rev });
          await this.open(doc._id);
        }),
    });
  }

  async #drawTree(): Promise<void> {
    const id = this.#doc?._id;
    if (id === undefined) return;
    const [leaves, current] = await Promise.all([readLeaves(this.#db, id), this.#read(id)]);
    const cards = await conflictCards(this.#db, current, () => this.refresh());
    if (this.#doc?._id !== id) return;
    const picture = treePicture(leaves, current._rev, (rev) => void attempt(() => this.#preview(id, rev)));
    this.#box.querySelector('.revisions')?.replaceChildren(picture);
    this.#box.querySelector('.conflicts')?.replaceChildren(...cards);
    const tree = picture.querySelector('.tree');
    if (tree !== null) tree.scrollLeft = tree.scrollWidth; // The newest is on the right.
  }

  async #preview(id: string, rev: string): Promise<void> {
    const doc = await this.#db.get(id, { rev });
    const pre = this.#box.querySelector('details pre');
    if (pre === null) return;
    pre.textContent = JSON.stringify(doc, null, 2);
    const details = pre.parentElement as HTMLDetailsElement;
    details.open = true;
    details.scrollIntoView({ block: 'nearest', behavior: 'smooth' });
  }
}

function input(field: Field, value: string): HTMLElement {
  const control =
    field === 'notes'
      ? element('textarea', { name: field, rows: 3 }, value)
      : element('input', {
          name: field,
          value,
          type: field === 'area' ? 'number' : 'text',
          step: field === 'area' ? 'any' : undefined,
          required: field === 'name',
        });
  return element('label', {}, element('span', {}, field === 'area' ? 'area, km²' : field), control);
}

const valuesOf = (form: HTMLFormElement): Record<string, string> =>
  Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value)]));

/** The document with what was typed. A field left empty is left out, as it was before anything was typed into it. */
function edited(doc: ExistingDoc<Place>, values: Record<string, string>): ExistingDoc<Place> {
  const { _conflicts, ...rest } = doc;
  const changed: Record<string, unknown> = { ...rest };
  for (const [field, value] of Object.entries(values)) {
    if (value !== '') changed[field] = field === 'area' ? Number(value) : value;
    else if (doc[field as Field] !== '') delete changed[field];
  }
  return changed as unknown as ExistingDoc<Place>;
}
