import { expect, it } from '@jest/globals';
import { refusalKindOf } from '../../../../../src/mount/fallback/refusal-kind.ts';

it.each([
  ["This model's maximum context length is 4096 tokens.", { error: { code: 'context_length_exceeded' } }],
  ['Invalid prompt', { error: { code: 'context_length_exceeded', type: 'invalid_request_error' } }],
  ['the request exceeds it', { error: { code: 400, type: 'exceed_context_size_error' } }],
  ['prompt is too long: 210000 tokens > 200000 maximum', { error: { type: 'invalid_request_error' } }],
  ['input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000', undefined],
  ['The input (5000 tokens) is longer than the model context length (4096 tokens).', 'no JSON'],
  ['The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).', undefined],
  ["This model's maximum prompt length is 131072 but the request contains 140000 tokens.", undefined],
  ['Prompt contains 40000 tokens, too large for model with 32768 maximum context length', undefined],
  ['Input is too long for requested model.', undefined],
  ['`inputs` tokens + `max_new_tokens` must be <= 131072.', undefined],
])('takes %j for a prompt that is too long', (message, body) => {
  expect(refusalKindOf(message, body)).toBe('context_length');
});

it.each([
  ['The response was filtered.', { error: { code: 'content_filter' } }],
  ['Your request was rejected by our safety system.', { error: { code: 'moderation_blocked' } }],
  ['The prompt triggered the content management policy.', undefined],
  ['Invalid prompt', { error: { code: 'content_policy_violation' } }],
  ['Your input was flagged', { error: { code: 403 } }],
  ['Request blocked: prompt injection patterns detected', undefined],
])('takes %j for a filter', (message, body) => {
  expect(refusalKindOf(message, body)).toBe('content_filter');
});

it.each([
  ["Unsupported value: 'temperature' does not support 0.2.", { error: { code: 'unsupported_value' } }],
  ['max_tokens: 99999 > 8192, which is the maximum allowed', undefined],
  ['Request exceeds the maximum size', { error: { type: 'request_too_large' } }],
  [undefined, undefined],
  ['x', null],
  ['x', [1]],
  [`${'a'.repeat(3000)} context length`, undefined],
])('takes %j for neither', (message, body) => {
  expect(refusalKindOf(message, body)).toBeUndefined();
});
