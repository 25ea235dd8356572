/**
 * The atlas: a page on a local database. It reads and writes only that; the network is the sync's business alone.
 *
 * `?replica=name` keeps a database of its own for this window; `?remote=url` syncs with another server.
 */
import { SettleDB } from 'settledb';
import { Catalogue } from './catalogue';
import { loaders } from './dataset';
import { byId, element } from './dom';
import { Editor } from './editor';
import { Network } from './network';
import type { Place } from './place';

/** Rows drawn; searching narrows the rest. */
const ROWS_MAX = 200;

const parameters = new URLSearchParams(location.search);
const replica = parameters.get('replica') ?? 'one';
const db = new SettleDB<Place>(replica === 'one' ? 'atlas' : `atlas-${replica}`);
const editor = new Editor(db);
const search = byId<HTMLInputElement>('search');
const catalogue = new Catalogue((changed) => {
  draw();
  if (editor.id !== undefined && changed.has(editor.id)) void editor.refresh();
});

byId('replica').textContent = replica;
byId<HTMLAnchorElement>('another').href = `?replica=${Math.random().toString(36).slice(2, 6)}`;
byId('new').addEventListener('click', () => editor.create());
search.addEventListener('input', draw);
loaders(db);
void catalogue.follow(db);
new Network(db, parameters.get('remote') ?? `${location.origin}/atlas`);

function draw(): void {
  const { entries, total } = catalogue.find(search.value, ROWS_MAX);
  const shown = total > entries.length ? `, the first ${entries.length} shown` : '';
  byId('count').textContent =
    `${total.toLocaleString('en')} of ${catalogue.size.toLocaleString('en')} documents${shown}`;
  byId('rows').replaceChildren(
    ...entries.map((entry) =>
      element(
        'li',
        {
          'data-id': entry.id,
          'aria-current': entry.id === editor.id,
          tabindex: 0,
          click: () => void pick(entry.id),
          keydown: (event) => (event as KeyboardEvent).key === 'Enter' && void pick(entry.id),
        },
        element('span', { class: 'flag' }, entry.flag),
        element('span', { class: 'name' }, entry.name),
        entry.conflicts > 0 && element('span', { class: 'badge' }, `${entry.conflicts + 1} versions`),
        element('span', { class: 'detail' }, entry.detail),
      ),
    ),
  );
}

async function pick(id: string): Promise<void> {
  await editor.open(id);
  draw();
}
