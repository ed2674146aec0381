/** How a series is drawn: in one of eight colours, counted from 1, and filled in one of three patterns. */
export interface SeriesLook {
  readonly colour: number;
  readonly pattern: (typeof patterns)[number];
}

const colours = 8;
const patterns = ['solid', 'hatched', 'dotted'] as const;
const looks = colours * patterns.length;

/**
 * Looks of the series of one chart: the same name has the same look in every chart. Names in `listed` have theirs by their place there,
 * others by their letters; of two with the same the second has the next one that is free.
 */
export function looksOf(names: readonly string[], listed: readonly string[]): readonly SeriesLook[] {
  const taken = new Map<number, string>();
  const places = new Map(listed.map((name, at) => [name, at]));
  const wished = (name: string) => (places.get(name) ?? hashOf(name)) % looks;
  const isListed = (name: string) => Number(places.has(name));
  for (const name of names.toSorted((a, b) => isListed(b) - isListed(a) || (a < b ? -1 : 1))) {
    let place = wished(name);
    while (taken.has(place) && taken.size < looks) place = (place + 1) % looks;
    taken.set(place, name);
  }
  const placeOf = new Map([...taken].map(([place, name]) => [name, place]));
  return names.map(name => lookAt(placeOf.get(name)!));
}

const lookAt = (place: number): SeriesLook => ({
  colour: (place % colours) + 1,
  pattern: patterns[Math.floor(place / colours)]!,
});

/** FNV-1a. */
function hashOf(name: string): number {
  let hash = 0x811c9dc5;
  for (const character of name) hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193) >>> 0;
  return hash;
}
