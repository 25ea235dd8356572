/** One document: its fields to edit, its revision tree, its conflicts with a way to settle them. */
import type { ExistingDoc, SettleDB } from 'settledb';
import { byId, element, notice } from './dom';
import { FIELDS, type Place } from './place';
import { readLeaves, treePicture } from './tree';

export class Editor {
  readonly #db: SettleDB<Place>;
  readonly #box = byId('document');
  #doc: ExistingDoc<Place> | undefined;
  #edited = false;

  constructor(db: SettleDB<Place>) {
    this.#db = db;
  }

  get id(): string | undefined {
    return this.#doc?._id;
  }

  async open(id: string): Promise<void> {
    this.#edited = false;
    try {
      await this.#show(await this.#db.get(id, { conflicts: true }));
    } catch (error) {
      if ((error as { status?: number }).status !== 404) throw error;
      this.#doc = undefined;
      this.#box.replaceChildren(
        element('div', { class: 'empty' }, element('p', {}, 'This document was deleted.')),
      );
    }
  }

  /** The document changed elsewhere. What is being typed stays; saving it then tells of the conflict. */
  async refresh(): Promise<void> {
    if (this.#doc === undefined) return;
    if (this.#edited) await this.#drawTree();
    else await this.open(this.#doc._id);
  }

  create(): void {
    const id = `note:${crypto.randomUUID()}`;
    this.#db
      .put({ _id: id, type: 'note', name: 'A new place' })
      .then(() => this.open(id))
      .catch((error: Error) => notice(error.message));
  }

  async #show(doc: ExistingDoc<Place>): Promise<void> {
    this.#doc = doc;
    const form = element('form', {
      submit: (event) => void this.#save(event),
      input: () => this.#markEdited(),
    });
    for (const field of FIELDS)
      if (field in doc || field === 'name' || field === 'notes') form.append(this.#field(doc, field));
    form.append(
      element(
        'div',
        { class: 'buttons' },
        element('button', { type: 'submit', class: 'primary' }, 'Save'),
        element('button', { type: 'button', click: () => void this.#remove() }, 'Delete'),
      ),
    );
    this.#box.replaceChildren(
      element('h2', {}, `${doc.flag ?? ''} ${doc.name}`),
      element(
        'p',
        { class: 'ids' },
        element('code', {}, doc._id),
        ' ',
        element('code', { class: 'current-rev' }, doc._rev),
      ),
      form,
      element('h3', {}, 'Revisions'),
      element('div', { class: 'revisions' }),
      element(
        'details',
        {},
        element('summary', {}, 'The whole document'),
        element('pre', {}, JSON.stringify(doc, null, 2)),
      ),
    );
    await this.#drawTree();
  }

  #field(doc: Place, field: (typeof FIELDS)[number]): HTMLElement {
    const value = doc[field] ?? '';
    const input =
      field === 'notes'
        ? element('textarea', { name: field, rows: 3 }, String(value))
        : element('input', {
            name: field,
            value: String(value),
            type: field === 'area' ? 'number' : 'text',
            step: 'any',
          });
    return element('label', {}, element('span', {}, field), input);
  }

  #markEdited(): void {
    this.#edited = true;
    this.#box.classList.add('edited');
  }

  async #save(event: Event): Promise<void> {
    event.preventDefault();
    const doc = this.#doc;
    if (doc === undefined) return;
    const values = Object.fromEntries(new FormData(event.target as HTMLFormElement)) as Record<
      string,
      string
    >;
    const { _conflicts, ...content } = doc;
    const changed: ExistingDoc<Place> = {
      ...content,
      ...values,
      ...(values.area === undefined ? {} : { area: Number(values.area) }),
    };
    try {
      await this.#db.put(changed);
      this.#box.classList.remove('edited');
      await this.open(doc._id);
    } catch (error) {
      const isConflict = (error as { status?: number }).status === 409;
      notice(
        isConflict
          ? 'Somebody changed this document meanwhile. Your text is still here: open it again to see theirs.'
          : (error as Error).message,
      );
    }
  }

  async #remove(): Promise<void> {
    const doc = this.#doc;
    if (doc === undefined) return;
    await this.#db.remove(doc._id, doc._rev);
    await this.open(doc._id);
  }

  async #drawTree(): Promise<void> {
    const doc = this.#doc;
    if (doc === undefined) return;
    const leaves = await readLeaves(this.#db, doc._id);
    const current = await this.#db.get(doc._id, { conflicts: true });
    const box = this.#box.querySelector('.revisions');
    if (box === null || this.#doc !== doc) return;
    const picture = treePicture(leaves, current._rev, (rev) => void this.#preview(doc._id, rev));
    const conflicts = (current._conflicts ?? []).map((rev) => this.#conflict(doc._id, rev, current._rev));
    box.replaceChildren(picture, element('ul', { class: 'conflicts' }, ...(await Promise.all(conflicts))));
  }

  async #conflict(id: string, rev: string, winner: string): Promise<HTMLElement> {
    const other = await this.#db.get(id, { rev });
    const said = other.notes ?? other.name;
    return element(
      'li',
      {},
      element('p', {}, 'In conflict: ', element('code', {}, rev.slice(0, 8)), ` “${said}”`),
      element('button', { type: 'button', click: () => void this.#settle(id, rev) }, 'Keep the winner'),
      element(
        'button',
        { type: 'button', click: () => void this.#settle(id, winner, other) },
        'Keep this one',
      ),
    );
  }

  /** Deletes the losing leaf; with `kept`, first writes its content on top of the branch that stays. */
  async #settle(id: string, losing: string, kept?: ExistingDoc<Place>): Promise<void> {
    if (kept !== undefined) {
      await this.#db.put({ ...kept, _rev: losing });
      await this.#db.remove(id, kept._rev);
    } else {
      await this.#db.remove(id, losing);
    }
    await this.open(id);
  }

  async #preview(id: string, rev: string): Promise<void> {
    const doc = await this.#db.get(id, { rev });
    const pre = this.#box.querySelector('details pre');
    if (pre === null) return;
    pre.textContent = JSON.stringify(doc, null, 2);
    (pre.parentElement as HTMLDetailsElement).open = true;
  }
}
