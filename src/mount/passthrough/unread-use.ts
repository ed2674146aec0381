import { nanoUsdOf } from '../../common/money.ts';
import type { ExchangeView, UnreadUse } from '../../gateway/exchange/exchange-view.ts';
import { costOf } from '../../gateway/settlement/cost.ts';
import { callKindOf } from './call-kind.ts';
import { bytes_per_token, media_bytes_per_token, packed_bytes_per_token } from './request-meter.ts';
import type { ServedModels } from './served-models.ts';

/** So many times its estimate may a prompt have, as under the hard limits of other requests. */
const prompt_margin = 2;

/**
 * The most that a call may use, by its headers and its path: of the model that the path names, else of the dearest that the provider serves.
 * Undefined for paths that use nothing, and where the provider serves no model of the catalog.
 */
export function mostUseOf(
  { path, headers }: Pick<ExchangeView, 'path' | 'headers'>,
  models: ServedModels,
): UnreadUse | undefined {
  const kind = callKindOf(path);
  const model = models.inTarget(path, path) ?? models.dearest;
  if (kind === 'stores' || !model) return undefined;
  // A chunked body has no known length.
  const bytes = Number(headers['content-length'] ?? Infinity);
  const prompt = Math.ceil((prompt_margin * bytes) / bytesPerToken(headers));
  const prompt_tokens = Math.min(prompt, model.context_length);
  const completion_tokens = kind === 'generates' ? model.max_completion_tokens : 0;
  const cost_usd = costOf({ prompt_tokens, completion_tokens, cached_tokens: 0 }, model.pricing);
  const per_call = nanoUsdOf(model.pricing.request ?? '0') ?? 0;
  return { tokens: prompt_tokens + completion_tokens, nano_usd: (nanoUsdOf(cost_usd) ?? 0) + per_call };
}

function bytesPerToken({
  'content-encoding': encoding = '',
  'content-type': type = '',
}: ExchangeView['headers']) {
  if (!/^(?:identity)?$/i.test(encoding)) return packed_bytes_per_token;
  return /^multipart\//i.test(type) ? media_bytes_per_token : bytes_per_token;
}
