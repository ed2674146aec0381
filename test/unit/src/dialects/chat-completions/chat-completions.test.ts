import { describe, expect, it } from '@jest/globals';
import type { Completion, ReplyMessage } from '../../../../../src/canonical.ts';
import { usageOf } from '../../../../../src/canonical.ts';
import { chatCompletions } from '../../../../../src/dialects/chat-completions/index.ts';
import { refusal } from '../../../../../src/errors.ts';
import { SseParser } from '../../../../../src/sse/parse.ts';
import { chunkOf } from '../../../chunk-stream.ts';
import { sampleRequest } from '../../../sample-exchange.ts';

const dialect = chatCompletions.create({ reasoning_key: 'reasoning' }, { models: [] });

const identity = {
  key: '7Yk',
  created: 1_795_132_800,
  model: 'aion-labs/aion-3.5',
  request: sampleRequest(),
  now_s: () => 1_795_132_801,
};
const usage = usageOf(12, 9, 4);

describe('a whole reply', () => {
  const render = (reply: Completion) => JSON.parse(dialect.renderReply(identity, reply)) as object;
  const message = { role: 'assistant' as const, content: 'Hello there.', reasoning: 'The user greets me.' };

  it('has exactly the specified fields', () => {
    expect(render({ choices: [{ index: 0, message, finish_reason: 'stop' }], usage })).toEqual({
      id: 'chatcmpl-7Yk',
      object: 'chat.completion',
      created: 1_795_132_800,
      model: 'aion-labs/aion-3.5',
      choices: [{ index: 0, message, finish_reason: 'stop' }],
      usage: {
        prompt_tokens: 12,
        completion_tokens: 9,
        total_tokens: 21,
        prompt_tokens_details: { cached_tokens: 4 },
      },
    });
  });

  it('keeps empty reasoning and null content, and drops fields that a stage left beside them', () => {
    const tool_calls = [{ id: 'a', type: 'function' as const, function: { name: 'roll', arguments: '{}' } }];
    const left = {
      role: 'assistant' as const,
      content: null,
      reasoning: '',
      tool_calls,
      refusal: null,
      note: 'inner',
    };
    expect(
      render({ choices: [{ index: 0, message: left, finish_reason: 'tool_calls', logprobs: null }], usage }),
    ).toMatchObject({
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: null, reasoning: '', tool_calls },
          finish_reason: 'tool_calls',
        },
      ],
    });
    expect(
      dialect.renderReply(identity, {
        choices: [{ index: 0, message: left, finish_reason: 'stop' }],
      }),
    ).not.toMatch(/note|refusal|logprobs/);
  });
});

describe('a stream', () => {
  const stream = dialect.renderStream(identity);

  it('matches the example of the protocol byte for byte (3.1)', () => {
    const head = `data: {"id":"chatcmpl-7Yk","object":"chat.completion.chunk","created":1795132800,"model":"aion-labs/aion-3.5","choices":`;
    const chunks = [
      chunkOf({ role: 'assistant', content: '' }),
      chunkOf({ reasoning: 'The user greets me.' }),
      chunkOf({ content: 'Hello' }),
      { ...chunkOf({}, 'stop'), usage },
    ];
    expect(chunks.map(chunk => stream.chunk(chunk)).join('') + stream.end()).toBe(
      `${head}[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

${head}[{"index":0,"delta":{"reasoning":"The user greets me."},"finish_reason":null}]}

${head}[{"index":0,"delta":{"content":"Hello"},"finish_reason":null}]}

${head}[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":9,"total_tokens":21,"prompt_tokens_details":{"cached_tokens":4}}}

data: [DONE]

`,
    );
  });

  it('has one line of JSON per chunk, for any text and model', () => {
    const odd = 'a\nb\r\n\u2028"\\\u0000🎲';
    const text = dialect.renderStream({ ...identity, model: odd }).chunk(chunkOf({ content: odd }));
    const [event, ...more] = new SseParser(10_000).feed(text);
    expect(more).toEqual([]);
    expect(JSON.parse(event!.data)).toMatchObject({ model: odd, choices: [{ delta: { content: odd } }] });
  });

  it('sends an error in the envelope, in an event without a name', () => {
    expect(stream.error(refusal('provider_broke_off'))).toBe(
      'data: {"error":{"message":"The upstream provider closed the stream unexpectedly.","type":"provider_error"}}\n\n',
    );
  });
});

describe('the name of the reasoning field', () => {
  it.each([
    ['reasoning', { reasoning: 'Hm.' }],
    ['reasoning_content', { reasoning_content: 'Hm.' }],
    ['both', { reasoning: 'Hm.', reasoning_content: 'Hm.' }],
  ] as const)('%s', (reasoning_key, named) => {
    const { renderReply, renderStream } = chatCompletions.create({ reasoning_key }, { models: [] });
    const message: ReplyMessage = { role: 'assistant', content: 'Yes.', reasoning: 'Hm.' };
    const reply = renderReply(identity, { choices: [{ index: 0, message, finish_reason: 'stop' }] });
    expect(JSON.parse(reply)).toMatchObject({
      choices: [{ message: { role: 'assistant', content: 'Yes.', ...named } }],
    });
    expect(reply.split('Hm.')).toHaveLength(Object.keys(named).length + 1);

    const deltaOf = (text: string) => JSON.parse(text.slice('data: '.length)).choices[0].delta as object;
    const stream = renderStream(identity);
    expect(deltaOf(stream.chunk(chunkOf({ reasoning: 'Hm.' })))).toEqual(named);
    // Beside something else it takes the longer way.
    const both = chunkOf({ reasoning: 'Hm.', content: 'Yes.' });
    expect(deltaOf(stream.chunk(both))).toEqual({ content: 'Yes.', ...named });
    expect(deltaOf(stream.chunk(chunkOf({ content: 'Yes.' })))).toEqual({ content: 'Yes.' });
  });
});

describe('signed reasoning and stop sequences', () => {
  const reasoning_details = [{ type: 'reasoning.text', text: 'Hm.', signature: 's' }];

  it.each(['reasoning', 'both'] as const)('are not shown in chat completions, key: %s', key => {
    const chat = chatCompletions.create({ reasoning_key: key }, { models: [] });
    const end = { index: 0, finish_reason: 'stop' as const, stop_sequence: 'END' };
    const message = { role: 'assistant' as const, content: 'Hi.', reasoning: 'Hm.', reasoning_details };
    const reply = chat.renderReply(identity, { choices: [{ ...end, message }], usage });
    const stream = chat.renderStream(identity);
    const logprobs = { content: [{ token: 'a', logprob: -0.5, bytes: [97], top_logprobs: [] }] };
    const signed = { index: 0, delta: { reasoning_details }, finish_reason: null };
    const written = [
      chunkOf({ reasoning: 'Hm.', reasoning_details }),
      { choices: [{ ...signed, logprobs: null }] },
      { choices: [{ ...end, delta: {} }], usage },
      { choices: [{ ...signed, logprobs }] },
    ].map(chunk => stream.chunk(chunk));
    expect(reply + written.join('')).not.toMatch(/reasoning_details|stop_sequence/);
    expect(written[0]).toContain('"reasoning":"Hm."');
    expect(written[1]).toBe('');
    expect(written[2]).toContain('"finish_reason":"stop"');
    expect(written[3]).toContain(JSON.stringify(logprobs));
  });
});
