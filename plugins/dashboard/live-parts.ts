import type { Html } from './view/html.ts';

/** Parts of a page by name; those that are left out stay as they are. */
export type LiveParts = Readonly<Record<string, Html>>;

/** A text made of another: a string is new, a pair of numbers is where pieces of the other begin and how many they are. */
export type Patch = readonly (string | readonly [from: number, count: number])[];

/** What a page has. */
export type ShownParts = Map<string, readonly string[]>;

/** Two states of a page differ in some numbers and links: each tag, and each text before one, is a piece that is sent or not. */
const pieceEnds = /(?<=>)/;

/** Pieces of a part, and the last patch that was made of them, which other readers of it need as well. */
const piecesOf = new WeakMap<Html, readonly string[]>();
const patches = new WeakMap<
  readonly string[],
  { readonly after: readonly string[]; readonly patch: Patch | undefined }
>();

/** Patches of the parts that are not as `shown` has them, which has them from then on; undefined if none has changed. */
export function patchesOf(parts: LiveParts, shown: ShownParts): Readonly<Record<string, Patch>> | undefined {
  const changed = Object.entries(parts).flatMap(([name, part]): [string, Patch][] => {
    const pieces = piecesOf.get(part) ?? part.text.split(pieceEnds);
    piecesOf.set(part, pieces);
    const before = shown.get(name);
    shown.set(name, pieces);
    const patch = before ? knownPatch(before, pieces) : pieces;
    return patch ? [[name, patch]] : [];
  });
  return changed.length > 0 ? Object.fromEntries(changed) : undefined;
}

function knownPatch(before: readonly string[], after: readonly string[]): Patch | undefined {
  const known = patches.get(before);
  if (known?.after === after) return known.patch;
  const patch = patchOf(before, after);
  const isSame = patch.length === 1 && Array.isArray(patch[0]) && patch[0][1] === before.length;
  patches.set(before, { after, patch: isSame ? undefined : patch });
  return patches.get(before)!.patch;
}

/** Takes runs of pieces where they stood, and single ones from wherever the same is. */
export function patchOf(before: readonly string[], after: readonly string[]): Patch {
  const places = new Map(before.map((piece, at) => [piece, at]));
  const patch: (string | [number, number])[] = [];
  let next = 0;
  for (const piece of after) {
    const at = before[next] === piece ? next : places.get(piece);
    const run = patch.at(-1);
    if (at === undefined) patch.push(piece);
    else if (Array.isArray(run) && run[0] + run[1] === at) run[1]++;
    else patch.push([at, 1]);
    next = (at ?? next) + 1;
  }
  return patch;
}
