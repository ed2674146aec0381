import { describe, expect, it } from '@jest/globals';
import { usageOf } from '../../../../../src/gateway/exchange/canonical.ts';
import { chunkFault, replyFault } from '../../../../../src/gateway/exchange/canonical-faults.ts';

const usage = usageOf(3, 2, 1, { reasoning_tokens: 1 }, 1);
const choice = { index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' };
const piece = { index: 0, delta: {}, finish_reason: null };

describe('what a stage returns', () => {
  it.each<[string | undefined, unknown]>([
    [undefined, { choices: [choice, { ...choice, message: { content: null } }], usage }],
    [undefined, { choices: [{ ...choice, message: {} }] }],
    ['no list of choices', null],
    ['no list of choices', { choices: {} }],
    ['no choices', { choices: [] }],
    ['a choice without a message', { choices: [choice, { ...choice, message: 'Hi' }] }],
    ['a choice without a message', { choices: [null] }],
    ['content that is an object', { choices: [{ ...choice, message: { content: [] } }] }],
    ['the finish_reason null', { choices: [{ ...choice, finish_reason: null }] }],
    ['the finish_reason "toString"', { choices: [{ ...choice, finish_reason: 'toString' }] }],
    [`the finish_reason "${'x'.repeat(40)}"`, { choices: [{ ...choice, finish_reason: 'x'.repeat(41) }] }],
    ['usage that is 7', { choices: [choice], usage: 7 }],
  ])('is, as a whole reply, one with %s', (fault, reply) => {
    expect(replyFault(reply)).toBe(fault);
  });

  it.each<[string | undefined, unknown]>([
    [undefined, { choices: [] }],
    [undefined, { choices: [piece, { ...piece, finish_reason: 'length' }], usage }],
    ['nothing', undefined],
    ['a string', 'Hi'],
    ['an object without a list of choices', null],
    ['a choice without a delta', { choices: [piece, { ...piece, delta: null }] }],
    ['a choice without a delta', { choices: [{ ...piece, delta: 'Hi' }] }],
    ['a chunk with the finish_reason undefined', { choices: [{ delta: {} }] }],
    ['a chunk with the prompt_tokens -1', { choices: [], usage: { ...usage, prompt_tokens: -1 } }],
  ])('is, as a chunk, %s', (fault, chunk) => {
    expect(chunkFault(chunk)).toBe(fault);
  });

  it.each<[string | undefined, object]>([
    [undefined, {}],
    [undefined, { completion_tokens_details: {}, prompt_tokens_details: { cached_tokens: 0 } }],
    [undefined, { completion_tokens_details: undefined }],
    ['the prompt_tokens 1.5', { prompt_tokens: 1.5 }],
    ['the completion_tokens undefined', { completion_tokens: undefined }],
    ['usage without prompt_tokens_details', { prompt_tokens_details: undefined }],
    ['the cached_tokens "1"', { prompt_tokens_details: { cached_tokens: '1' } }],
    [
      'the cache_creation_tokens -1',
      { prompt_tokens_details: { cached_tokens: 0, cache_creation_tokens: -1 } },
    ],
    ['completion_tokens_details that are null', { completion_tokens_details: null }],
    ['the reasoning_tokens NaN', { completion_tokens_details: { reasoning_tokens: Number.NaN } }],
  ])('has, in its usage, %s', (fault, fields) => {
    const told = { choices: [choice], usage: { ...usage, ...fields } };
    expect(replyFault(told)).toBe(fault);
    expect(replyFault(told, told as never)).toBeUndefined();
  });
});
