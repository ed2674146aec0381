import { describe, expect, it } from '@jest/globals';
import { usageOf } from '../../../../../src/gateway/exchange/canonical.ts';
import { reportedUsage } from '../../../../../src/mount/passthrough/reported-usage.ts';

describe('the usage that a reply reports', () => {
  it.each([
    ['embeddings', { prompt_tokens: 8, total_tokens: 8 }, usageOf(8, 0)],
    ['a reranker', { total_tokens: 9 }, usageOf(9, 0)],
    ['a prompt and a total', { prompt_tokens: 8, total_tokens: 10 }, usageOf(8, 2)],
    ['a completion and a total', { completion_tokens: 3, total_tokens: 10 }, usageOf(7, 3)],
    ['a total below its parts', { prompt_tokens: 8, total_tokens: 3 }, usageOf(8, 0)],
    [
      'a completion with its breakdown',
      {
        prompt_tokens: 8,
        completion_tokens: 5,
        prompt_cache_hit_tokens: 3,
        completion_tokens_details: { reasoning_tokens: 2 },
      },
      usageOf(8, 5, 3, { reasoning_tokens: 2 }),
    ],
    [
      'transcriptions',
      { type: 'tokens', input_tokens: 14, output_tokens: 45, total_tokens: 59 },
      usageOf(14, 45),
    ],
    [
      'a message of Anthropic',
      { input_tokens: 4, cache_read_input_tokens: 10, cache_creation_input_tokens: 6, output_tokens: 5 },
      usageOf(20, 5, 10, undefined, 6),
    ],
    ['null', null, undefined],
    ['an empty object', {}, undefined],
    ['seconds', { type: 'duration', seconds: 3 }, undefined],
    ['a completion alone', { completion_tokens: 3 }, undefined],
    ['a negative count', { prompt_tokens: -1, total_tokens: 5 }, undefined],
    ['a count that is text', { prompt_tokens: 5, total_tokens: '5' }, undefined],
    ['too large a count', { total_tokens: 1e13 }, undefined],
  ])('is read of %s', (_, usage, expected) => {
    expect(reportedUsage({ usage })).toEqual(expected);
  });

  it.each([
    [
      "Gemini's, with thinking in the total alone",
      {
        usageMetadata: {
          promptTokenCount: 8,
          candidatesTokenCount: 2,
          totalTokenCount: 15,
          cachedContentTokenCount: 3,
        },
      },
      usageOf(8, 7, 3),
    ],
    ["Ollama's", { response: 'Yes', prompt_eval_count: 8, eval_count: 2 }, usageOf(8, 2)],
    ["llama.cpp's", { tokens_evaluated: 8, tokens_predicted: 2 }, usageOf(8, 2)],
    [
      'a response',
      {
        type: 'response.completed',
        response: { usage: { input_tokens: 8, output_tokens: 2, total_tokens: 10 } },
      },
      usageOf(8, 2),
    ],
    [
      "Cohere's chats",
      { delta: { usage: { billed_units: { input_tokens: 8, output_tokens: 2 } } } },
      usageOf(8, 2),
    ],
    ['counted tokens', { input_tokens: 8 }, undefined],
  ])('is read of other places: %s', (_, reply, expected) => {
    expect(reportedUsage(reply)).toEqual(expected);
  });

  it('takes a completion alone with the prompt that was told before, as in events of Anthropic', () => {
    const begun = reportedUsage({ message: { usage: { input_tokens: 8, output_tokens: 1 } } });
    expect(begun).toEqual(usageOf(8, 1));
    expect(reportedUsage({ usage: { output_tokens: 5 } }, begun)).toEqual(usageOf(8, 5));
  });

  it.each([
    [{ billed_units: { input_tokens: 7, output_tokens: 1 }, tokens: { input_tokens: 99 } }, usageOf(7, 1)],
    [{ billed_units: { search_units: 1 }, tokens: { input_tokens: 6 } }, usageOf(6, 0)],
    [{ billed_units: { search_units: 1 } }, undefined],
    ['meta', undefined],
  ])("is read of Cohere's meta: %j", (meta, expected) => {
    expect(reportedUsage({ meta })).toEqual(expected);
  });
});
