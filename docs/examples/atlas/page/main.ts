/**
 * The atlas: a page on a local database. It reads and writes only that; the network is the sync's business alone.
 *
 * `?replica=name` keeps a database of its own for this window; `?remote=url` syncs with another server.
 */
import { SettleDB } from 'settledb';
import { Catalogue } from './catalogue';
import { loaders } from './dataset';
import { byId } from './dom';
import { Editor } from './editor';
import { List } from './list';
import { WorldMap } from './map';
import { Network } from './network';
import type { Place } from './place';
import { QueryPanel } from './query-panel';

const parameters = new URLSearchParams(location.search);
const replica = parameters.get('replica') ?? 'one';
const remote = parameters.get('remote');
const db = new SettleDB<Place>(replica === 'one' ? 'atlas' : `atlas-${replica}`);

const catalogue = new Catalogue();
const editor = new Editor(db);
const list = new List(catalogue, (id) => void editor.open(id));
const map = new WorldMap(catalogue, (id) => void editor.open(id));

catalogue.onChange = (changed) => {
  list.draw();
  map.draw(changed);
  loaded(catalogue);
  if (editor.id !== undefined && changed.has(editor.id)) void editor.refresh();
};
editor.onOpen = (id) => {
  document.body.classList.toggle('reading', id !== undefined);
  byId('welcome').hidden = id !== undefined || catalogue.size > 0;
  list.select(id);
  map.select(id);
};

byId('replica').textContent = replica;
const another = new URLSearchParams({ replica: Math.random().toString(36).slice(2, 6) });
if (remote !== null) another.set('remote', remote);
byId<HTMLAnchorElement>('another').href = `?${another}`;
byId('new').addEventListener('click', () => {
  list.clear();
  void editor.create();
});
const loaded = loaders(db);
void catalogue.follow(db);
new Network(db, remote ?? `${location.origin}/atlas`);
new QueryPanel(db, (id) => void editor.open(id));
