import { describe, expect, it } from '@jest/globals';
import { type Completion, usageOf } from '../../../../../../src/gateway/exchange/canonical.ts';
import { chunkOf } from '../../../../chunk-stream.ts';
import { chatOf, identity, openStream } from '../renderings.ts';
import { eventsIn } from '../stream-readers.ts';

const usage = usageOf(12, 9, 4);
const render = (reply: Completion) => JSON.parse(chatOf().renderReply(identity(), reply));
const tool_calls = [{ id: 'a', type: 'function' as const, function: { name: 'roll', arguments: '{}' } }];

describe('a whole chat completion', () => {
  it('has exactly the specified fields', () => {
    const message = { role: 'assistant' as const, content: 'Hello there.', reasoning: 'The user greets me.' };
    const choices = [{ index: 0, message, finish_reason: 'stop' as const }];
    expect(render({ choices, usage })).toEqual({
      id: 'chatcmpl-5f2',
      object: 'chat.completion',
      created: 1_795_132_800,
      model: 'aion-labs/aion-3.5',
      choices,
      usage: {
        ...{ prompt_tokens: 12, completion_tokens: 9, total_tokens: 21 },
        prompt_tokens_details: { cached_tokens: 4 },
      },
    });
  });

  it('keeps empty reasoning and null content, and drops what a stage or a provider left beside them', () => {
    const said = { role: 'assistant' as const, content: null, reasoning: '', tool_calls };
    const left = { ...said, refusal: null, note: 'inner', reasoning_details: [{ type: 'reasoning.text' }] };
    const end = { index: 0, finish_reason: 'tool_calls' as const };
    const choice = { ...end, message: left, logprobs: null, stop_sequence: 'END', native_finish_reason: 'x' };
    expect(render({ choices: [choice] }).choices).toEqual([{ ...end, message: said }]);
  });
});

describe('a chunk of chat completions', () => {
  it('is one line of JSON for any text and model', () => {
    const odd = 'a\nb\r\n\u2028"\\\u0000🎲';
    const stream = chatOf().renderStream({ ...identity(), model: odd });
    const [event, ...more] = eventsIn(stream.chunk(chunkOf({ content: odd })));
    expect(more).toEqual([]);
    expect(event?.json).toMatchObject({ model: odd, choices: [{ delta: { content: odd } }] });
  });

  it('has no stop sequence and no signed reasoning, whatever stands beside them', () => {
    const reasoning_details = [{ type: 'reasoning.text', text: 'Hm.', signature: 's' }];
    const logprobs = { content: [{ token: 'a', logprob: -0.5, bytes: [97], top_logprobs: [] }] };
    const signed = { index: 0, delta: { reasoning_details }, finish_reason: null };
    const end = { index: 0, delta: {}, finish_reason: 'stop' as const };
    const shown = (choice: object) => {
      const [event] = eventsIn(openStream(chatOf()).chunk({ choices: [{ ...signed, ...choice }] }));
      return event?.json?.choices;
    };
    expect(shown({})).toBeUndefined();
    expect(shown({ logprobs: null })).toBeUndefined();
    expect(shown({ logprobs })).toEqual([{ index: 0, delta: {}, finish_reason: null, logprobs }]);
    expect(shown({ ...end, stop_sequence: 'END' })).toEqual([end]);
  });
});
