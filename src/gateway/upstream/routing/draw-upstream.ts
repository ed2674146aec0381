/** What load balancing knows of an upstream. */
export interface Candidate {
  readonly weight: number;
  /** Never changes; for rendezvous hashing. */
  readonly seed: number;
  /** Attempts that run at its provider. */
  readonly in_flight: number;
  /** Recent latency, if known. */
  readonly latency_ms: number | undefined;
}

/** Factor by which the second draw must be better to be preferred; less is noise. */
const clearly = 1.25;
/** Attempts in flight up to which no provider counts as overloaded. */
const free_in_flight = 4;

/**
 * The power of two choices: of two upstreams drawn by weight the first, unless the second is clearly less busy or faster. Weights are
 * shares while all upstreams are healthy, and the best one does not get all requests (Mitzenmacher).
 */
export function chooseOfTwo<C extends Candidate>(candidates: readonly C[], random = Math.random): C {
  if (candidates.length === 1) return candidates[0]!;
  const first = drawn(candidates, random());
  const others = candidates.filter(candidate => candidate !== first);
  return betterOfTwo(first, drawn(others, random()));
}

/** The first, unless the second is clearly less busy or faster. */
export const betterOfTwo = <C extends Candidate>(first: C, second: C): C =>
  isClearlyBetter(second, first) ? second : first;

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
 * Weighted rendezvous hashing: a key always gets the same one of the same candidates, and when one comes or goes only its own keys move.
 * One that has more than `overload` times its share of what is in flight is skipped.
 */
export function chooseSticky<C extends Candidate>(
  candidates: readonly C[],
  key: number,
  overload: number,
): C {
  if (candidates.length === 1) return candidates[0]!;
  const in_flight = candidates.reduce((sum, candidate) => sum + candidate.in_flight, 0);
  const share = (overload * (in_flight + 1)) / totalWeight(candidates);
  let [first, first_rank] = [candidates[0]!, Number.NEGATIVE_INFINITY];
  let [free, free_rank] = [undefined as C | undefined, Number.NEGATIVE_INFINITY];
  // One pass and no list: of hundreds of candidates it costs a tenth of sorting them.
  for (const candidate of candidates) {
    const rank = candidate.weight / -Math.log(uniform(key ^ candidate.seed));
    if (rank > first_rank) [first, first_rank] = [candidate, rank];
    const isFree = candidate.in_flight < Math.max(free_in_flight, share * candidate.weight);
    if (isFree && rank > free_rank) [free, free_rank] = [candidate, rank];
  }
  return free ?? first;
}

const totalWeight = (candidates: readonly Candidate[]): number =>
  candidates.reduce((sum, { weight }) => sum + weight, 0);

/** Pseudorandom number between 0 and 1, exclusive, determined by 32 bits (Murmur's last steps). */
export function uniform(bits: number): number {
  let mixed = bits;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  mixed ^= mixed >>> 16;
  return ((mixed >>> 0) + 0.5) / 2 ** 32;
}
