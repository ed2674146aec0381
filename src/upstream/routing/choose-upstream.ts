/** What a choice needs to know of an upstream. */
export interface Candidate {
  readonly weight: number;
  /** A number of its own that never changes, for conversations that stay where they were. */
  readonly seed: number;
  /** Attempts that are under way at its provider. */
  readonly in_flight: number;
  /** How long it took of late to begin its answers, or `undefined` if nothing recent is known. */
  readonly latency_ms: number | undefined;
}

/** By how much an upstream must be worse than another before it loses its turn to it: less is noise. */
const clearly = 1.25;
/** Up to this many attempts at a time no provider is called overloaded. */
const free_in_flight = 4;

/**
 * The power of two choices: of two upstreams drawn by weight the first is taken, unless the second is clearly less busy or faster. So
 * weights are shares as long as all are well, and no crowd runs to the one that looks best (Mitzenmacher).
 */
export function chooseOfTwo<C extends Candidate>(candidates: readonly C[], random = Math.random): C {
  const [only] = candidates;
  if (candidates.length === 1) return only!;
  const first = drawn(candidates, random());
  const others = candidates.filter(candidate => candidate !== first);
  const second = drawn(others, random());
  return isClearlyBetter(second, first) ? second : first;
}

function drawn<C extends Candidate>(candidates: readonly C[], at: number): C {
  let left = at * totalWeight(candidates);
  for (const candidate of candidates) {
    left -= candidate.weight;
    if (left < 0) return candidate;
  }
  return candidates.at(-1)!;
}

function isClearlyBetter(one: Candidate, other: Candidate): boolean {
  const mean = (one.weight + other.weight) / 2;
  const known = one.latency_ms !== undefined && other.latency_ms !== undefined;
  const cost = ({ weight, in_flight, latency_ms }: Candidate) =>
    (1 + (in_flight * mean) / weight) * (known ? 1 + latency_ms! : 1);
  return cost(one) * clearly < cost(other);
}

/**
 * The upstream whose turn a conversation is: always the same one of the same candidates, and when one comes or goes only its own
 * conversations move (weighted rendezvous hashing). One that has more than `overload` times its share of what is under way is passed over.
 */
export function chooseSticky<C extends Candidate>(
  candidates: readonly C[],
  conversation: number,
  overload: number,
): C {
  const [only] = candidates;
  if (candidates.length === 1) return only!;
  const rank = (candidate: C) => candidate.weight / -Math.log(uniform(conversation ^ candidate.seed));
  const ranked = candidates
    .map(candidate => ({ candidate, rank: rank(candidate) }))
    .sort((a, b) => b.rank - a.rank);
  const in_flight = candidates.reduce((sum, candidate) => sum + candidate.in_flight, 0);
  const share = (overload * (in_flight + 1)) / totalWeight(candidates);
  const isFree = ({ candidate }: { candidate: C }) =>
    candidate.in_flight < Math.max(free_in_flight, share * candidate.weight);
  return (ranked.find(isFree) ?? ranked[0]!).candidate;
}

const totalWeight = (candidates: readonly Candidate[]): number =>
  candidates.reduce((sum, { weight }) => sum + weight, 0);

/** A number between 0 and 1, without them, that looks random and is the same for the same 32 bits (Murmur's last steps). */
export function uniform(bits: number): number {
  let mixed = bits;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  mixed ^= mixed >>> 16;
  return ((mixed >>> 0) + 0.5) / 2 ** 32;
}
