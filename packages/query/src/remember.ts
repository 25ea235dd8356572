/** Programs have tens of views, and of what belongs to each. Those that make up names and sources must not fill memory. */
const REMEMBERED_MAX = 500;

/** Puts `value` into `map`. One that is full forgets all others: those in use soon come back. */
export function remember<T>(map: Map<string, T>, key: string, value: T): void {
  if (map.size >= REMEMBERED_MAX && !map.has(key)) map.clear();
  map.set(key, value);
}
