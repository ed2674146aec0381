import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { encryptedContentOf } from '../../../../../plugins/dialects/responses/encrypted-reasoning.ts';
import { responses } from '../../../../../plugins/dialects/responses/index.ts';
import { replyFormOf } from '../../../../../plugins/dialects/responses/reply-form.ts';
import type { ChatRequest, ContentPart, Message } from '../../../../../src/gateway/exchange/canonical.ts';

const options = { reasoning_placement: 'auto' } as const;
const dialect = responses.create(options, { models: [] });
const context = { path: '/v1/responses', headers: {}, account_id: undefined };
const json = (value: unknown) => JSON.parse(JSON.stringify(value)) as Record<string, unknown>;
const parse = (body: object): ChatRequest => dialect.parse(json({ model: 'a/b', ...body }), context);

const word = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
const inputText = fc.record({ type: fc.constant('input_text'), text: word });
const image = fc.record(
  {
    type: fc.constant('input_image'),
    image_url: fc.constantFrom('https://a.example/a.png', 'data:image/png;base64,AAAA'),
    detail: fc.constantFrom('auto', 'low', 'high'),
  },
  { requiredKeys: ['type', 'image_url'] },
);
/** Parts that stay parts: one text alone becomes a string. */
const parts = fc
  .array(fc.oneof(inputText, image), { minLength: 1, maxLength: 3 })
  .filter(given => given.length > 1 || given[0]?.type === 'input_image');
const content = fc.oneof(word, parts);

const details = fc.array(fc.record({ type: word, signature: word }), { minLength: 1, maxLength: 2 });
const thought = fc.record(
  {
    type: fc.constant('reasoning'),
    summary: fc.record({ type: fc.constant('summary_text'), text: word }).map(part => [part]),
    encrypted_content: details.map(encryptedContentOf),
  },
  { requiredKeys: ['type', 'summary'] },
);
/** Calls of declared tools, with their outputs. */
const called = fc.oneof(
  fc.record({ type: fc.constant('function_call'), name: fc.constant('shell'), arguments: word }),
  fc.record({
    type: fc.constant('function_call'),
    namespace: fc.constant('crm'),
    name: fc.constant('lookup'),
    arguments: word,
  }),
  fc.record({ type: fc.constant('custom_tool_call'), name: fc.constant('apply_patch'), input: word }),
);
const tools = [
  { type: 'function', name: 'shell' },
  { type: 'custom', name: 'apply_patch' },
  { type: 'namespace', name: 'crm', tools: [{ type: 'function', name: 'lookup' }] },
];

const asked = fc.record({ role: fc.constantFrom('user'), content });
const turn = fc
  .record({
    asked: fc.oneof(asked, fc.record({ role: fc.constant('system'), content: word })),
    thought: fc.option(thought, { nil: undefined }),
    said: fc.option(word, { nil: undefined }),
    calls: fc.array(fc.record({ called, output: content }), { maxLength: 3 }),
  })
  .filter(({ thought: reasoned, said, calls }) => !reasoned || said !== undefined || calls.length > 0);

/** The items of turns, in the order in which a response has them. */
function itemsOf(turns: readonly (typeof turn extends fc.Arbitrary<infer T> ? T : never)[]): object[] {
  let count = 0;
  return turns.flatMap(({ asked: question, thought: reasoned, said, calls }) => {
    const named = calls.map(one => ({ ...one, call_id: `call_${count++}` }));
    return [
      question,
      ...(reasoned ? [reasoned] : []),
      ...(said === undefined ? [] : [{ role: 'assistant', content: said }]),
      ...named.map(({ called: { type, ...rest }, call_id }) => ({ type, call_id, ...rest })),
      ...named.map(({ called: { type }, call_id, output }) => ({ type: `${type}_output`, call_id, output })),
    ];
  });
}

/** The messages as items of input. */
function encoded({ messages, ...request }: ChatRequest): object[] {
  const { names } = replyFormOf({ messages, ...request }, options);
  const outputs = new Map<string, string>();
  return messages.flatMap((message): object[] => {
    const { role, content: given, tool_calls = [], tool_call_id = '' } = message;
    if (role === 'tool')
      return [{ type: outputs.get(tool_call_id), call_id: tool_call_id, output: shown(given) }];
    const calls = tool_calls.map(({ id: call_id, function: { name, arguments: text } }) => {
      const tool = names!.toolOf(name);
      const type = tool.kind === 'custom' ? 'custom_tool_call' : 'function_call';
      outputs.set(call_id, `${type}_output`);
      const space = tool.namespace === undefined ? {} : { namespace: tool.namespace };
      const input = tool.kind === 'custom' ? { input: JSON.parse(text).input } : { arguments: text };
      return { type, call_id, ...space, name: tool.name, ...input };
    });
    return [...thoughtOf(message), ...(given ? [{ role, content: shown(given) }] : []), ...calls];
  });
}

function thoughtOf({ reasoning: text, reasoning_details }: Message): object[] {
  if (text === undefined) return [];
  const encrypted = reasoning_details && { encrypted_content: encryptedContentOf(reasoning_details) };
  return [{ type: 'reasoning', summary: [{ type: 'summary_text', text }], ...encrypted }];
}

const shown = (given: Message['content']) => (Array.isArray(given) ? given.map(shownPart) : given);
const shownPart = (part: ContentPart) =>
  part.type === 'text'
    ? { type: 'input_text', text: part.text }
    : { type: 'input_image', ...part.image_url, image_url: part.image_url.url, url: undefined };

const unit = fc.double({ min: 0, max: 1, noNaN: true });
const parameters = fc.record(
  {
    top_p: unit,
    presence_penalty: unit,
    frequency_penalty: unit,
    parallel_tool_calls: fc.boolean(),
    user: word,
    prompt_cache_key: word,
    seed: fc.maxSafeInteger(),
    tool_choice: fc.constantFrom('none', 'auto', 'required'),
  },
  { requiredKeys: [] },
);
const own = fc.record(
  {
    temperature: unit,
    max_output_tokens: fc.integer({ min: 1, max: 1000 }),
    reasoning_effort: word,
    reasoning_split: fc.boolean(),
    metadata: fc.dictionary(word, word),
  },
  { requiredKeys: [] },
);
const turns = fc.array(turn, { minLength: 1, maxLength: 4 });

describe('any Responses request', () => {
  it('is the same again when its messages are written as items', () => {
    fc.assert(
      fc.property(turns, given => {
        const input = itemsOf(given);
        const request = parse({ input, tools });
        expect(request.unknown).toEqual({});
        expect(json(encoded(request))).toEqual(json(input));
      }),
      { numRuns: 200 },
    );
  });

  it('keeps every parameter under its name or that of chat', () => {
    fc.assert(
      fc.property(parameters, own, (forwarded, { max_output_tokens: max_tokens, ...rest }) => {
        const request = parse({ input: 'Hello', ...forwarded, ...rest, max_output_tokens: max_tokens });
        expect(request.parameters).toEqual(json(forwarded));
        const { client: _, ...kept } = request;
        const least = parse({ input: 'Hello' });
        expect(kept).toEqual({
          ...json({ ...least, client: undefined, ...rest, max_tokens }),
          parameters: json(forwarded),
        });
      }),
      { numRuns: 100 },
    );
  });

  it('has every field named that it does not keep', () => {
    const name = word.map(given => `x-${given}`);
    fc.assert(
      fc.property(turns, name, name, name, name, (given, ofBody, ofItem, ofPart, ofTool) => {
        const partsIn = (value: unknown) =>
          Array.isArray(value) ? value.map((part: object) => ({ ...part, [ofPart]: 1 })) : value;
        const items = itemsOf(given) as { content?: unknown; output?: unknown }[];
        const input = items.map(({ content: said, output, ...rest }) => ({
          ...rest,
          [ofItem]: 1,
          ...(said !== undefined && { content: partsIn(said) }),
          ...(output !== undefined && { output: partsIn(output) }),
        }));
        const request = parse({ input, tools: tools.map(tool => ({ ...tool, [ofTool]: 1 })), [ofBody]: 1 });
        const expected = [ofBody, `input.${ofItem}`, `tools.${ofTool}`];
        for (const place of ['content', 'output'] as const)
          if (items.some(item => Array.isArray(item[place]))) expected.push(`input.${place}.${ofPart}`);
        expect(Object.keys(request.unknown).toSorted()).toEqual(expected.toSorted());
        expect(json(encoded(request))).toEqual(json(items));
      }),
      { numRuns: 100 },
    );
  });
});
