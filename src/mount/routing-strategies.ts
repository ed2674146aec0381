import { picoUsd } from '../common/money.ts';
import type { RoutingConfig } from '../common/options.ts';
import { chooseOfTwo } from '../gateway/upstream/routing/draw-upstream.ts';
import type { RoutingStrategy } from '../gateway/upstream/routing/load-balancer.ts';

/** Share of the requests that go to any upstream, so that one that has become faster is found. */
const explored = 0.03;
/** Factor up to which a latency is as good as the lowest; less is noise. */
const alike = 1.25;

/** The latency that is known, or none: its average is older than half a minute, or there was none. */
type Known<C> = C & { readonly latency_ms: number };
const isKnown = <C extends { readonly latency_ms: number | undefined }>(
  candidate: C,
): candidate is Known<C> => candidate.latency_ms !== undefined;

/**
 * The fastest to the first token, or to a whole reply; of those that are as fast the less busy of two. One of unknown latency is asked by one
 * request at a time, and a small share of all goes anywhere: what was slow is found again when it no longer is.
 */
export const lowestLatency: RoutingStrategy = (candidates, random) => {
  if (random() < explored) return chooseOfTwo(candidates, random);
  const unknown = candidates.find(candidate => !isKnown(candidate) && candidate.in_flight === 0);
  if (unknown) return unknown;
  const known = candidates.filter(isKnown);
  if (known.length === 0) return chooseOfTwo(candidates, random);
  const lowest_ms = Math.min(...known.map(({ latency_ms }) => latency_ms));
  return chooseOfTwo(
    known.filter(({ latency_ms }) => latency_ms <= lowest_ms * alike),
    random,
  );
};

/** Tokens of a prompt for one of its completion, about what chats have. */
const prompt_share = 3n;

/** The one whose provider is paid least, those of unknown price last; of those that cost the same the less busy of two. */
export const lowestCost: RoutingStrategy = (candidates, random) => {
  const cost = ({ upstream: { paid_prices } }: (typeof candidates)[number]): bigint | undefined =>
    paid_prices && prompt_share * picoUsd(paid_prices.prompt) + picoUsd(paid_prices.completion);
  const costs = candidates.map(cost).filter(one => one !== undefined);
  const lowest = costs.reduce((low, one) => (low === undefined || one < low ? one : low), costs[0]);
  return chooseOfTwo(
    candidates.filter(candidate => cost(candidate) === lowest),
    random,
  );
};

/** Strategies by their names in the configuration; `weighted` is the load balancer's own. */
export const strategyOf = ({ strategy }: RoutingConfig): RoutingStrategy | undefined =>
  ({ weighted: undefined, lowest_latency: lowestLatency, lowest_cost: lowestCost })[strategy];
