import { type Finish, finishOf, UpstreamError } from 'sluice/plugin';

/** Reasons by which the model's own output is not a reply: another attempt may give one. */
const failures: ReadonlySet<string> = new Set([
  'MALFORMED_FUNCTION_CALL',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MISSING_THOUGHT_SIGNATURE',
  'MALFORMED_RESPONSE',
]);

/** Filters beside those that `finishOf` knows. */
const filters: ReadonlySet<string> = new Set(['LANGUAGE', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII']);

/** Canonical finish reason; `undefined`: not ended yet. Throws an UpstreamError for a failure, with the API's `message` if it has one. */
export function geminiFinishOf(reason: unknown, message: unknown): Finish | undefined {
  if (typeof reason !== 'string' || reason === '' || reason === 'FINISH_REASON_UNSPECIFIED') return undefined;
  if (failures.has(reason))
    throw new UpstreamError(typeof message === 'string' ? message : `finishReason ${reason}`);
  const isFiltered = filters.has(reason) || reason.startsWith('IMAGE_');
  return isFiltered ? { finish_reason: 'content_filter' } : finishOf(reason);
}
