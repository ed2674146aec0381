import type { Model } from '../gateway/catalog/catalog.ts';
import { type ChatRequest, textOf } from '../gateway/exchange/canonical.ts';
import type { Limit } from '../gateway/limits/limit-table.ts';
import type { Charge } from '../gateway/limits/limit-units.ts';
import type { ReservationResult, StateStore } from '../gateway/limits/state-store.ts';
import type { UpstreamQuota } from '../gateway/upstream/routing/upstream.ts';

/** Characters of a token, about. */
const characters_per_token = 4;
/** What a completion is expected to have before any has ended, and how much of the average each one is. */
const [initial_tokens, share_of_newest] = [500, 0.1];

/**
 * The quota of an upstream with limits, counted in the state store under a name that no account has. Requests are counted as they are sent,
 * above a limit if need be: what asks first looks at `free_in_ms`. Tokens are counted as expected, and corrected at the end.
 */
export function upstreamQuota(
  state: StateStore,
  { provider, model, limits }: Model['upstreams'][number],
): UpstreamQuota | undefined {
  if (!limits) return undefined;
  const account = `\u001fupstream ${provider} ${model}`;
  const rules = (['requests_per_minute', 'tokens_per_minute'] as const).flatMap((name): Limit[] => {
    const max = limits[name];
    return max === undefined ? [] : [{ name, max }];
  });
  let completion = initial_tokens;
  const expected = (request: ChatRequest | undefined) =>
    request ? promptOf(request) + Math.min(request.max_tokens ?? completion, Math.ceil(completion)) : 0;
  return {
    free_in_ms() {
      let free_in_ms = 0;
      for (const { remaining, reset_ms } of state.knownStatuses(account, rules))
        if (remaining < 1) free_in_ms = Math.max(free_in_ms, reset_ms, 1);
      return free_in_ms;
    },
    take(request) {
      const charge = { requests: 1, tokens: expected(request), nano_usd: 0 };
      const reserved = reserve(state, account, rules, charge);
      return (requests, tokens) => {
        if (request && tokens > 0)
          completion += (Math.max(0, tokens - promptOf(request)) - completion) * share_of_newest;
        const settle = (result: ReservationResult | undefined) =>
          result?.admitted && result.reservation.settle({ requests, tokens, nano_usd: 0 });
        if (reserved instanceof Promise) void reserved.then(settle);
        else settle(reserved);
      };
    },
  };
}

/** Undefined where the store does not answer: a quota keeps no request from an upstream for that. */
function reserve(state: StateStore, account: string, limits: readonly Limit[], charge: Charge) {
  try {
    const result = state.reserve({ account, limits, charge, force: true });
    return result instanceof Promise ? result.catch(() => undefined) : result;
  } catch {
    return undefined;
  }
}

const promptOf = ({ messages }: ChatRequest): number =>
  Math.ceil(
    messages.reduce(
      (sum, { content, tokens }) => sum + textOf(content).length + 4 * (tokens?.length ?? 0),
      0,
    ) / characters_per_token,
  );
