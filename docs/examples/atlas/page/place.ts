/** What the atlas keeps: countries and cities, told apart by `type`. */

export interface Place {
  type: 'country' | 'city' | 'note';
  name: string;
  region?: string;
  capital?: string;
  area?: number;
  flag?: string;
  /** Two letters, of a country. */
  cca2?: string;
  /** Of a country, as its dataset has it. */
  latlng?: readonly number[];
  languages?: Record<string, string>;
  country?: string;
  lat?: number;
  lng?: number;
  notes?: string;
}

/** The fields the form shows, in its order. Others stay as they are in the document. */
export const FIELDS = ['name', 'capital', 'region', 'country', 'area', 'notes'] as const;

interface Country {
  readonly cca3: string;
  readonly name: { readonly common: string; readonly official: string };
  readonly capital: readonly string[];
  readonly region: string;
  readonly area: number;
  readonly flag: string;
}

interface City {
  readonly name: string;
  readonly lat: string;
  readonly lng: string;
  readonly country: string;
  readonly admin1: string;
}

/** A country as its dataset has it, nested fields and all, with the atlas's own fields in front. */
export function placeOfCountry(country: Country): Place & { _id: string } {
  const { name, capital, region, area, flag } = country;
  return {
    _id: `country:${country.cca3}`,
    ...country,
    type: 'country',
    name: name.common,
    region,
    capital: capital[0] ?? '',
    area,
    flag,
  };
}

export function placeOfCity(city: City, index: number): Place & { _id: string } {
  const { name, country } = city;
  const id = `city:${country}:${name}:${String(index).padStart(6, '0')}`;
  return { _id: id, type: 'city', name, country, lat: Number(city.lat), lng: Number(city.lng) };
}

/** Latitude and longitude, where they are known. */
export function positionOf({ lat, lng, latlng }: Place): readonly [number, number] | undefined {
  const [latitude, longitude] = [lat ?? latlng?.[0], lng ?? latlng?.[1]];
  return latitude === undefined || longitude === undefined ? undefined : [latitude, longitude];
}

/** What stands before a name in the list. Letters, for not every system has pictures of flags. */
export const codeOf = ({ type, cca2, country }: Place): string =>
  type === 'note' ? '✎' : ((type === 'city' ? country : cca2) ?? '·');

/** Equal words for equal places, however they are written. */
export const searchable = (text: string): string =>
  text
    .normalize('NFD')
    .replaceAll(/\p{Diacritic}/gu, '')
    .toLowerCase();
