import leven from 'leven';

/** The name in `known` closest to `given`, or undefined if none is close. */
export function nearestName(given: string, known: readonly string[]): string | undefined {
  const typed = folded(given);
  let nearest: string | undefined;
  let least = maxDistance(typed) + 1;
  for (const name of known) {
    const distance = leven(typed, folded(name));
    if (distance >= least) continue;
    nearest = name;
    least = distance;
  }
  return nearest;
}

/** End of a message with the closest name and then `list`: `; did you mean 'server'? Accepted here: server, admin`. */
export function suggested(given: string, known: readonly string[], list: string): string {
  const nearest = nearestName(given, known);
  if (nearest === undefined) return `; ${list}`;
  return `; did you mean '${nearest}'? ${list.charAt(0).toUpperCase()}${list.slice(1)}`;
}

/** Message that there is no `kind` called `given`, with the known names and the closest one. */
export function noSuchName(kind: string, given: string, known: readonly string[]): string {
  return `there is no ${kind} '${given}'${suggested(given, known, `there are: ${known.join(', ') || '(none)'}`)}`;
}

/** Ignores differences of case, hyphens and underscores, the most common typos. */
const folded = (name: string): string => name.toLowerCase().replaceAll('_', '-');

/** At least 2 for most names, because two swapped letters have a distance of 2. */
function maxDistance({ length }: string): number {
  if (length < 4) return 1;
  return length < 8 ? 2 : 3;
}
