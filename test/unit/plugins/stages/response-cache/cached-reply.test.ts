import { describe, expect, it } from '@jest/globals';
import { CachedReply, replyIn } from '../../../../../plugins/stages/response-cache/cached-reply.ts';
import type { Chunk } from '../../../../../src/gateway/exchange/canonical.ts';
import { chunkOf } from '../../../chunk-stream.ts';

const billed = {
  prompt_tokens: 24,
  completion_tokens: 7,
  cached_tokens: 16,
  cache_creation_tokens: 3,
  completion_details: undefined,
  estimated: false,
};
const reasoning_details = [{ type: 'reasoning.text', text: 'Hm.', signature: 's'.repeat(200) }];
const end: Chunk = {
  choices: [{ index: 0, delta: { content: 'Hi.' }, finish_reason: 'stop', stop_sequence: 'END' }],
};

function stored(max_characters: number) {
  const reply = new CachedReply('key', max_characters);
  for (const chunk of [chunkOf({ reasoning: 'Hm.' }), chunkOf({ reasoning_details }), end])
    reply.transform(chunk);
  return reply.text(billed);
}

describe('a reply that is stored', () => {
  it("has its signed reasoning, its stop sequence and the tokens written to the provider's cache", () => {
    expect(replyIn(stored(1000))).toMatchObject({
      choices: [{ message: { content: 'Hi.', reasoning: 'Hm.', reasoning_details }, stop_sequence: 'END' }],
      usage: { prompt_tokens_details: { cached_tokens: 16, cache_creation_tokens: 3 } },
    });
  });

  it('is dropped when its signed reasoning is too large', () => {
    expect(stored(200)).toBeUndefined();
  });
});
