/** Loads a dataset into the database in batches, with a bar that tells how far it is. */
import type { SettleDB } from 'settledb';
import type { Catalogue } from './catalogue';
import { byId, notice } from './dom';
import { type Place, placeOfCity, placeOfCountry } from './place';

const BATCH = 1000;
const COUNTRIES = 250;
const CITIES = 10_000;

/** How long the bar tells how it went. */
const TOLD_MS = 6000;

/** @returns hides what is loaded already, by what there is */
export function loaders(db: SettleDB<Place>): (catalogue: Catalogue) => void {
  byId('load-countries').addEventListener('click', () => void load(db, 'countries'));
  byId('load-cities').addEventListener('click', () => void load(db, 'cities'));
  return (catalogue) => {
    byId('load-countries').hidden = catalogue.count('country') >= COUNTRIES;
    byId('load-cities').hidden = catalogue.count('city') >= CITIES;
  };
}

async function load(db: SettleDB<Place>, dataset: 'countries' | 'cities'): Promise<void> {
  const buttons = [byId<HTMLButtonElement>('load-countries'), byId<HTMLButtonElement>('load-cities')];
  for (const button of buttons) button.disabled = true;
  try {
    show(0, `Reading ${dataset}…`);
    const places = await read(dataset);
    const begun = performance.now();
    let written = 0;
    for (let i = 0; i < places.length; i += BATCH) {
      const rows = await db.bulkDocs(places.slice(i, i + BATCH));
      written += rows.filter((row) => 'ok' in row).length;
      show(
        Math.min((i + BATCH) / places.length, 1),
        `${Math.min(i + BATCH, places.length).toLocaleString('en')} of ${places.length.toLocaleString('en')}`,
      );
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
    const seconds = ((performance.now() - begun) / 1000).toFixed(2);
    const known = places.length - written;
    show(
      1,
      `${written.toLocaleString('en')} written in ${seconds} s${known > 0 ? `, ${known.toLocaleString('en')} were there` : ''}`,
    );
    setTimeout(() => {
      byId('progress').hidden = true;
    }, TOLD_MS);
  } catch (error) {
    byId('progress').hidden = true;
    notice(`The dataset could not be loaded: ${(error as Error).message}`);
  } finally {
    for (const button of buttons) button.disabled = false;
  }
}

async function read(dataset: 'countries' | 'cities'): Promise<(Place & { _id: string })[]> {
  const response = await fetch(`/dataset/${dataset}.json`);
  if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
  const rows = await response.json();
  if (dataset === 'countries') return rows.map(placeOfCountry);
  // Every so many of the 171,000, so that they come from all over the world.
  const every = Math.floor(rows.length / CITIES);
  return Array.from({ length: CITIES }, (_, i) => placeOfCity(rows[i * every], i * every));
}

function show(share: number, text: string): void {
  const bar = byId('progress');
  bar.hidden = false;
  bar.setAttribute('data-share', String(share));
  (bar.firstElementChild as HTMLElement).style.width = `${share * 100}%`;
  (bar.lastElementChild as HTMLElement).textContent = text;
}
