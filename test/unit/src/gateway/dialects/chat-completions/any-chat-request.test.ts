import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  chatRequest,
  plainFields,
} from '../../../../../../src/gateway/dialects/chat-completions/chat-request.ts';
import { chatCompletions } from '../../../../../../src/gateway/dialects/chat-completions/index.ts';
import { bodyParser } from '../../../../../../src/gateway/dialects/request-schema/first-fault.ts';
import { openAiAdapter } from '../../../../../../src/gateway/upstream/openai/openai-adapter.ts';

const dialect = chatCompletions.create({ reasoning_key: 'reasoning' }, { models: [] });
const adapter = openAiAdapter({ providerName: 'openai' });
const target = { model: 'served', effortMap: {}, extraParameters: [], maxTokens: 1000 };

const text = fc.string({ unit: 'grapheme', maxLength: 12 });
const word = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
const textPart = fc.record({ type: fc.constant('text'), text });
const imagePart = fc.record({
  type: fc.constant('image_url'),
  image_url: fc.record(
    {
      url: fc.constantFrom('https://a.example/a.png', 'data:image/png;base64,AAAA'),
      detail: fc.constantFrom('auto', 'low', 'high'),
    },
    { requiredKeys: ['url'] },
  ),
});
const textParts = fc.array(textPart, { minLength: 1, maxLength: 3 });
const parts = fc.array(fc.oneof(textPart, imagePart), { minLength: 1, maxLength: 3 });
const call = fc.record(
  {
    id: word,
    type: fc.constant('function'),
    function: fc.record({ name: word, arguments: text }),
    extra_content: fc.dictionary(word, fc.jsonValue()),
  },
  { requiredKeys: ['id', 'type', 'function'] },
);

const message = fc.oneof(
  fc.record(
    { role: fc.constant('system'), content: fc.oneof(text, textParts), name: word },
    { requiredKeys: ['role', 'content'] },
  ),
  fc.record(
    { role: fc.constant('user'), content: fc.oneof(text, parts), name: word },
    { requiredKeys: ['role', 'content'] },
  ),
  fc.record(
    { role: fc.constant('assistant'), content: fc.oneof(text, textParts), reasoning_content: word },
    { requiredKeys: ['role', 'content'] },
  ),
  fc.record({
    role: fc.constant('assistant'),
    content: fc.oneof(fc.constant(null), text),
    reasoning_content: word,
    tool_calls: fc.array(call, { minLength: 1, maxLength: 3 }),
  }),
  fc.record({ role: fc.constant('tool'), tool_call_id: word, content: fc.oneof(text, textParts) }),
);

const schema = fc.record({ type: fc.constant('object'), properties: fc.dictionary(word, fc.jsonValue()) });
const tool = fc.record({
  type: fc.constant('function'),
  function: fc.record(
    { name: word, description: text, strict: fc.boolean(), parameters: schema },
    { requiredKeys: ['name'] },
  ),
});

const unit = fc.double({ min: 0, max: 1, noNaN: true });
const count = fc.integer({ min: 1, max: 1000 });
/** Fields that a server of the same format is sent as they are. */
const fields = fc.record(
  {
    temperature: unit,
    max_tokens: count,
    stop: fc.array(word, { minLength: 1, maxLength: 3 }),
    tools: fc.array(tool, { minLength: 1, maxLength: 3 }),
    n: fc.integer({ min: 1, max: 128 }),
    top_p: unit,
    presence_penalty: unit,
    frequency_penalty: unit,
    parallel_tool_calls: fc.boolean(),
    user: text,
    prompt_cache_key: text,
    seed: fc.maxSafeInteger(),
    logit_bias: fc.dictionary(word, count),
    logprobs: fc.boolean(),
    top_logprobs: fc.integer({ min: 0, max: 20 }),
    response_format: fc.record({
      type: fc.constantFrom('text', 'json_object', 'json_schema', 'structural_tag'),
      json_schema: schema,
    }),
    tool_choice: fc.constantFrom('none', 'auto', 'required'),
  },
  { requiredKeys: [] },
);
const messages = fc.array(message, { minLength: 1, maxLength: 6 });

const json = (value: unknown) => JSON.parse(JSON.stringify(value)) as Record<string, unknown>;

/** Common and uncommon values of a field, right and wrong. */
const anything = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom(null, '', 'auto', 'required', 0, -1, 0.5, 2, 3, 1e300, true, [], {}),
  fc.record(
    {
      include_usage: fc.oneof(fc.boolean(), fc.jsonValue()),
      continuous_usage_stats: fc.boolean(),
      other: text,
    },
    { requiredKeys: [] },
  ),
  fc.array(
    fc.oneof(
      tool,
      tool.map(one => ({ ...one, cache_control: { type: 'ephemeral' } })),
      fc.jsonValue(),
    ),
  ),
  fc.array(fc.oneof(message, fc.jsonValue())),
);

describe('any chat completion request', () => {
  it.each(Object.keys(plainFields))('has a plain %s read as its schema reads it', name => {
    const parser = (plain?: typeof plainFields) =>
      bodyParser(chatRequest, Object.keys(chatRequest.shape), plain);
    const [plainly, wholly] = [parser(plainFields), parser()];
    const told = (parse: () => unknown) => {
      try {
        return { parsed: parse() };
      } catch (thrown) {
        return { refused: (thrown as Error).message };
      }
    };
    const least = { model: 'a/b', messages: [{ role: 'user', content: 'Hello' }] };
    fc.assert(
      fc.property(anything, fc.boolean(), (value, stream) => {
        const body = json({ ...least, stream, [name]: value });
        // Fields that a parser for bodies leaves out are undefined for the schema.
        expect(json(told(() => plainly(json(body))))).toEqual(json(told(() => wholly(json(body)))));
      }),
      { numRuns: 300 },
    );
  });

  it('reaches a server of the same format as it was sent', () => {
    fc.assert(
      fc.property(messages, fields, (said, chosen) => {
        const body = json({ model: 'a/b', messages: said, ...chosen });
        const request = dialect.parse(json(body));
        expect(request.unknown).toEqual({});
        expect(adapter.encode(request, target).body).toEqual({ ...body, model: 'served' });
      }),
      { numRuns: 200 },
    );
  });

  it('has every field named that is not sent', () => {
    const name = word.map(given => `x-${given}`);
    fc.assert(
      fc.property(messages, name, name, name, (said, ofBody, ofMessage, ofPart) => {
        const more = { [ofPart]: 1 };
        const inImage = (part: object) =>
          'image_url' in part ? { ...part, image_url: { ...Object(part.image_url), ...more } } : part;
        const inParts = said.map(({ content, ...rest }) => ({
          ...rest,
          [ofMessage]: 1,
          content: Array.isArray(content) ? content.map(part => ({ ...inImage(part), ...more })) : content,
          ...('tool_calls' in rest && {
            tool_calls: rest.tool_calls.map(one => ({
              ...one,
              ...more,
              function: { ...one.function, ...more },
            })),
          }),
        }));
        const request = dialect.parse({ model: 'a/b', messages: json(inParts), [ofBody]: 1 });
        const parts = said.flatMap(({ content }): object[] => (Array.isArray(content) ? content : []));
        const names = [
          ofBody,
          `messages.${ofMessage}`,
          ...(parts.length > 0 ? [`messages.content.${ofPart}`] : []),
          ...(parts.some(part => 'image_url' in part) ? [`messages.content.image_url.${ofPart}`] : []),
          ...(said.some(one => 'tool_calls' in one)
            ? [`messages.tool_calls.${ofPart}`, `messages.tool_calls.function.${ofPart}`]
            : []),
        ];
        expect(Object.keys(request.unknown).toSorted()).toEqual(names.toSorted());
        expect(adapter.encode(request, target).body).toEqual({ model: 'served', messages: json(said) });
      }),
      { numRuns: 100 },
    );
  });
});
