import leven from 'leven';

/** The name among `known` that `given` was probably meant to be; `undefined` if none is near enough. */
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

/** `list` after a semicolon, and before it what was probably meant: `; did you mean 'server'? Accepted here: server, admin`. */
export function suggested(given: string, known: readonly string[], list: string): string {
  const nearest = nearestName(given, known);
  if (nearest === undefined) return `; ${list}`;
  return `; did you mean '${nearest}'? ${list.charAt(0).toUpperCase()}${list.slice(1)}`;
}

/** Says that no `kind` has this name, which ones there are, and which of them was probably meant. */
export function noSuchName(kind: string, given: string, known: readonly string[]): string {
  return `there is no ${kind} '${given}'${suggested(given, known, `there are: ${known.join(', ') || '(none)'}`)}`;
}

/** Capitals, hyphens and underscores are the commonest slips. */
const folded = (name: string): string => name.toLowerCase().replaceAll('_', '-');

/** Two letters in the wrong order are a distance of two. */
function maxDistance({ length }: string): number {
  if (length < 4) return 1;
  return length < 8 ? 2 : 3;
}
