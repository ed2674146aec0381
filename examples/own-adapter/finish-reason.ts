import { type FinishReason, UpstreamError } from 'sluice/plugin';

/** Reasons by which the model's own output is not a reply: another attempt may give one. */
const failures: ReadonlySet<string> = new Set([
  'MALFORMED_FUNCTION_CALL',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MISSING_THOUGHT_SIGNATURE',
  'MALFORMED_RESPONSE',
]);

const filters: ReadonlySet<string> = new Set([
  'SAFETY',
  'RECITATION',
  'LANGUAGE',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
]);

/** Canonical finish reason; `undefined`: not ended yet. Throws an UpstreamError for a failure, with the API's `message` if it has one. */
export function finishReasonOf(reason: unknown, message: unknown): FinishReason | undefined {
  if (typeof reason !== 'string' || reason === '' || reason === 'FINISH_REASON_UNSPECIFIED') return undefined;
  if (failures.has(reason))
    throw new UpstreamError(typeof message === 'string' ? message : `finishReason ${reason}`);
  if (reason === 'MAX_TOKENS') return 'length';
  return filters.has(reason) || reason.startsWith('IMAGE_') ? 'content_filter' : 'stop';
}
