import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { GatewayError } from '../../../../../src/errors.ts';
import { EventTemplate } from '../../../../../src/upstream/openai/event-template.ts';
import { OpenAiStreamDecoder } from '../../../../../src/upstream/openai/openai-stream-decoder.ts';
import { event, wire } from '../openai-events.ts';

const decode = (data: string) => new OpenAiStreamDecoder().decode({ data });
const usage = (completion_tokens: number, cached_tokens = 0) => ({
  prompt_tokens: 7,
  total_tokens: 7 + completion_tokens,
  completion_tokens,
  prompt_tokens_details: { cached_tokens },
});

describe('an event template', () => {
  const { data } = wire({ content: 'One' }, null, { usage: usage(1) });
  const steady = EventTemplate.of(data, decode)!;

  it.each([
    ['the same text', data],
    ['different text', wire({ content: ' river, 山 🦆' }, null, { usage: usage(1) }).data],
    ['escapes in the text', wire({ content: '"\\\n\u0007' }, null, { usage: usage(1) }).data],
    ['an escaped character', data.replace('One', '\\u5c71\\/')],
    ['different usage', wire({ content: 'One' }, null, { usage: usage(12345, 4) }).data],
  ])('reads an event with %s', (_, other) => {
    expect(steady.read(other)).toEqual(decode(other)[0]);
    expect(steady.read(other)).toBeDefined();
  });

  it.each([
    ['no text', wire({ content: '' }, null, { usage: usage(1) }).data],
    ['a role', wire({ role: 'assistant', content: 'One' }, null, { usage: usage(1) }).data],
    ['a finish reason', wire({ content: 'One' }, 'stop', { usage: usage(1) }).data],
    ['a tool call', wire({ content: 'One', tool_calls: [] }, null, { usage: usage(1) }).data],
    [
      'a usage breakdown',
      wire({ content: 'One' }, null, { usage: { ...usage(1), completion_tokens_details: {} } }).data,
    ],
    ['no usage', wire({ content: 'One' }).data],
    ['trailing characters', `${data} `],
    ['an octal number', data.replace('"completion_tokens":1', '"completion_tokens":01')],
    ['a missing number', data.replace('"completion_tokens":1', '"completion_tokens":')],
    ['a negative number', data.replace('"completion_tokens":1', '"completion_tokens":-1')],
    ['a fraction', data.replace('"completion_tokens":1', '"completion_tokens":1.5')],
    ['too many digits', data.replace('"completion_tokens":1', `"completion_tokens":${'9'.repeat(16)}`)],
    ['a control character', data.replace('One', 'O\ne')],
    ['an invalid escape', data.replace('One', '\\x')],
    ['a truncated escape', data.replace('One', '\\u12')],
    ['unterminated text', data.slice(0, data.indexOf('One') + 2)],
  ])('does not read an event with %s', (_, other) => {
    expect(steady.read(other)).toBeUndefined();
  });

  it.each([
    ['several choices', event({ choices: [0, 1].map(index => ({ index, delta: { content: 'a' } })) }).data],
    ['a finish reason', wire({ content: 'One' }, 'stop').data],
    [
      'log probabilities',
      event({ choices: [{ index: 0, delta: { content: 'a' }, logprobs: { content: [] } }] }).data,
    ],
    ['the same text twice', wire({ reasoning: 'One', reasoning_content: 'One' }).data],
    [
      'a usage breakdown',
      wire({ content: 'One' }, null, {
        usage: { ...usage(1), completion_tokens_details: { reasoning_tokens: 1 } },
      }).data,
    ],
    [
      'usage before its text',
      event({ usage: usage(1), choices: [{ index: 0, delta: { content: 'a' } }] }).data,
    ],
    ['an escape after its usage', wire({ content: 'One' }, null, { usage: usage(1), note: '"1' }).data],
  ])('is not made from an event with %s', (_, other) => {
    expect(EventTemplate.of(other, decode)).toBeUndefined();
  });
});

const spaced = (json: string): string => json.replaceAll('":', '": ').replaceAll(',"', ', "');
const texts = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: 'binary', maxLength: 6 }) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(' river', '"', '\\', '\n\n', '"content":"x"', '"usage":{"a":1}', '', 'a1b22'),
  },
);
const count = fc.oneof(fc.nat(500), fc.constantFrom(0, 9, 10, 99, 1e15, 123456789012345, 2 ** 53, -1, 1.5));
const deltas = fc.oneof(
  { weight: 8, arbitrary: texts.map(content => ({ content })) },
  { weight: 4, arbitrary: texts.map(reasoning => ({ reasoning })) },
  { weight: 2, arbitrary: texts.map(reasoning_content => ({ content: null, reasoning_content })) },
  fc.constantFrom(
    {},
    { role: 'assistant', content: '' },
    { tool_calls: [{ index: 0, id: 'call_1', function: { name: 'f' } }] },
    { refusal: 'No.' },
  ),
  texts.map(content => ({ role: 'assistant', content })),
);
const usages = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(count, count)
      .map(([p, c]) => ({ prompt_tokens: p, total_tokens: 3, completion_tokens: c })),
  },
  { weight: 2, arbitrary: fc.tuple(count, count).map(([c, cached]) => usage(c, cached)) },
  fc.constantFrom(
    null,
    {},
    { prompt_tokens: 1 },
    { ...usage(3), completion_tokens_details: { reasoning_tokens: 2 } },
  ),
);

/** The events of a stream: mostly alike, now and then not. */
const streams = fc.record({
  isSpaced: fc.boolean(),
  hasUsage: fc.boolean(),
  perChoice: fc.boolean(),
  rest: fc.constantFrom({}, { logprobs: null }, { token_ids: null, note: 'a1' }),
  events: fc.array(
    fc.record({
      index: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, fc.nat(2)),
      delta: deltas,
      usage: usages,
      finish: fc.oneof(
        { weight: 15, arbitrary: fc.constant(null) },
        fc.constantFrom('stop', 'length', 'abort'),
      ),
      damage: fc.oneof(
        { weight: 12, arbitrary: fc.constant((json: string) => json) },
        fc.nat(400).map(at => (json: string) => json.slice(0, at)),
        fc.tuple(fc.nat(400), fc.constantFrom('"', '\\', '\n', '0', '1', ' ', '}', '{', 'e', '.', '-')).map(
          ([at, mark]) =>
            (json: string) =>
              json.slice(0, at) + mark + json.slice(at + 1),
        ),
      ),
    }),
    { maxLength: 30 },
  ),
});

function outcomeOf(decoder: OpenAiStreamDecoder, data: string): unknown {
  try {
    const chunks = decoder.decode({ data });
    // Ids that a server does not give are made up anew by each decoder.
    return JSON.parse(JSON.stringify(chunks).replaceAll(/"call_[0-9a-f]{24}"/g, '"call"'));
  } catch (thrown) {
    return GatewayError.is(thrown) ? thrown.code : String(thrown);
  }
}

describe('a decoder with templates', () => {
  it('reads every event as one without templates does', () => {
    fc.assert(
      fc.property(streams, ({ isSpaced, hasUsage, perChoice, rest, events }) => {
        const learning = new OpenAiStreamDecoder({ usagePerChoice: perChoice });
        // A decoder that has to show every choice makes no template.
        const parsing = new OpenAiStreamDecoder({ usagePerChoice: perChoice, onChoice: () => {} });
        for (const { index, delta, usage, finish, damage } of events) {
          const body = {
            id: 'chatcmpl-1',
            created: 1795132800,
            choices: [{ index, delta, finish_reason: finish, ...rest }],
            ...(hasUsage && { usage }),
          };
          const json = JSON.stringify(body);
          const data = damage(isSpaced ? spaced(json) : json);
          expect(outcomeOf(learning, data)).toEqual(outcomeOf(parsing, data));
          expect(learning.complete).toBe(parsing.complete);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
