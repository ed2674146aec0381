import { type Usage, usageOf } from '../canonical.ts';
import type { Exchange } from '../exchange.ts';

/** Usage as shown in replies and chunks: the same keys everywhere (protocol d6, d10). */
export function shownUsage({ usage }: Pick<Exchange, 'usage'>): Usage {
  return usageOf(usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens, usage.completion_details);
}
