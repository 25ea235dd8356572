/**
 * The atlas: a page on a local database, which is kept and synced in a worker. The page reads and writes only that; the network
 * is the sync's business alone.
 *
 * `?replica=name` keeps a database of its own for this window; `?remote=url` syncs another one with another server.
 */
import { connect } from 'settledb/worker';
import { chosen } from './address';
import { App } from './app';
import { Catalogue } from './catalogue';
import { loaders } from './dataset';
import { byId } from './dom';
import { Editor } from './editor';
import { List } from './list';
import { WorldMap } from './map';
import { Network } from './network';
import type { Place } from './place';
import { QueryPanel } from './query-panel';

const { replica, name, remote } = chosen(location.href);

// What a person types into the panel "Ask" may be a function: it is their own page.
const worker = document.querySelector<HTMLMetaElement>('meta[name="db-worker"]')!.content;
const SettleDB = connect(() => new Worker(worker, { type: 'module' }), { functions: 'source' });
const db = new SettleDB<Place>(name);

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
const panel = new QueryPanel(db, (id) => void editor.open(id));
editor.onOpen = (id) => {
  if (id !== undefined) panel.close();
  document.body.classList.toggle('reading', id !== undefined);
  byId('welcome').hidden = id !== undefined || catalogue.size > 0;
  list.select(id);
  map.select(id);
};

byId('replica').textContent = replica;
const another = new URLSearchParams({ replica: Math.random().toString(36).slice(2, 6) });
if (remote !== undefined) another.set('remote', remote);
byId<HTMLAnchorElement>('another').href = `?${another}`;
byId('new').addEventListener('click', () => {
  list.clear();
  void editor.create();
});
const loaded = loaders(db);
void catalogue.follow(db);
const network = new Network(db, remote ?? `${location.origin}/atlas`);
const app = new App(() => editor.hasDrafts);
// A server of another origin may want a password: what the service worker sends goes to our own.
if (remote === undefined) network.onUnsent = () => app.settleLater(name);
app.onNetwork = () => network.again();
