import { picoUsd, usdOf } from '../common/money.ts';
import type { Usage } from '../gateway/exchange/canonical.ts';
import type { Exchange } from '../gateway/exchange/exchange.ts';
import { callCostOf } from '../gateway/settlement/cost.ts';
import { boundedUsage, windowBounds } from '../gateway/settlement/usage-bounds.ts';

/**
 * What the providers of an exchange are paid, as an exact decimal string; undefined if one of them has worked at an unknown price. An
 * attempt that another followed is paid for what its provider said that it has used.
 */
export function paidUsdOf({ attempts, usage, model, request }: Exchange): string | undefined {
  let pico_usd = 0n;
  for (const [at, { paid_prices, used, outcome }] of attempts.entries()) {
    const isLast = at === attempts.length - 1;
    if (!used && !isLast) continue;
    if (!paid_prices) return undefined;
    const tokens = used ? tokensOf(boundedUsage(used, windowBounds(model, request.n ?? 1))) : usage;
    pico_usd += picoUsd(callCostOf(tokens, paid_prices, outcome === 'completed'));
  }
  return usdOf(pico_usd);
}

const tokensOf = ({
  prompt_tokens,
  completion_tokens,
  prompt_tokens_details,
  completion_tokens_details,
}: Usage) => ({
  prompt_tokens,
  completion_tokens,
  ...prompt_tokens_details,
  completion_details: completion_tokens_details,
});
