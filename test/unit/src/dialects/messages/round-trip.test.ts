import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { ChatRequest, ContentPart, Message, ReasoningDetail } from '../../../../../src/canonical.ts';
import { messages } from '../../../../../src/dialects/messages/index.ts';

const dialect = messages.create({ enabled: true }, { models: [] });

type Json = Record<string, unknown>;

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
const id = fc.stringMatching(/^[a-z0-9_]{1,8}$/);
const cache = { cache_control: fc.constantFrom({ type: 'ephemeral' }, { type: 'ephemeral', ttl: '1h' }) };
/** Fields of which some may be missing. */
const some = (
  required: Record<string, fc.Arbitrary<unknown>>,
  optional: Record<string, fc.Arbitrary<unknown>> = {},
) => fc.record({ ...required, ...optional }, { requiredKeys: Object.keys(required) }) as fc.Arbitrary<Json>;
const typed = (type: string, required: Record<string, fc.Arbitrary<unknown>>, optional = {}) =>
  some({ type: fc.constant(type), ...required }, optional);

const asParsed = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const textBlock = typed('text', { text }, cache);
const base64 = fc.base64String({ minLength: 4, maxLength: 8 });
const image = typed(
  'image',
  {
    source: fc.oneof(
      typed('base64', { media_type: fc.constantFrom('image/png', 'image/webp'), data: base64 }),
      typed('url', { url: id.map(name => `https://example.com/${name}.png`) }),
    ),
  },
  cache,
);
const part = fc.oneof(textBlock, image);
const parts = fc.array(part, { minLength: 1, maxLength: 3 });
const result = typed('tool_result', { tool_use_id: id, content: fc.oneof(text, parts) }, cache);
const call = typed(
  'tool_use',
  // As text they were before: JSON has no -0.
  { id, name: id, input: fc.dictionary(id, fc.jsonValue({ maxDepth: 2 })).map(asParsed) },
  cache,
);
const thinking = fc.oneof(
  typed('thinking', { thinking: text, signature: base64 }),
  typed('redacted_thinking', { data: base64 }),
);

const list = (block: fc.Arbitrary<Json>) => fc.array(block, { maxLength: 2 });
const user = fc
  .tuple(list(result), list(part))
  .map(blocks => blocks.flat())
  .filter(({ length }) => length > 0);
const assistant = fc
  .tuple(list(thinking), list(textBlock), list(call))
  .map(blocks => blocks.flat())
  .filter(blocks => blocks.some(({ type }) => type === 'text' || type === 'tool_use'));
const turn = fc.oneof(
  some({ role: fc.constantFrom('user', 'assistant'), content: text }),
  some({ role: fc.constant('user'), content: user }),
  some({ role: fc.constant('assistant'), content: assistant }),
);

const tool = some(
  { name: id, input_schema: fc.dictionary(id, fc.jsonValue({ maxDepth: 1 })) },
  { description: text, strict: fc.boolean(), ...cache },
);
/** Requests of which everything has a place in the canonical form. */
const request = some(
  {
    model: fc.constant('a/b'),
    max_tokens: fc.integer({ min: 1, max: 9000 }),
    messages: fc.array(turn, { minLength: 1, maxLength: 4 }),
  },
  {
    system: fc.oneof(text, fc.array(textBlock, { minLength: 1, maxLength: 2 })),
    stop_sequences: fc.array(text, { minLength: 1, maxLength: 2 }),
    stream: fc.boolean(),
    temperature: fc.double({ min: 0, max: 1, noNaN: true }),
    top_p: fc.double({ min: 0, max: 1, noNaN: true }),
    tools: fc.array(tool, { minLength: 1, maxLength: 2 }),
    tool_choice: some(
      { type: fc.constantFrom('auto', 'any') },
      { disable_parallel_tool_use: fc.constant(true) },
    ),
    metadata: some({ user_id: text }),
    output_config: some({
      format: typed('json_schema', { schema: fc.dictionary(id, fc.jsonValue({ maxDepth: 1 })) }),
    }),
  },
);

/** A request again in the Messages format: what is a matter of style in one form only. */
function encoded({ messages: given, parameters, tools, stop, ...rest }: ChatRequest): Json {
  const [first, ...others] = given;
  const isPrompt = first?.role === 'system';
  const { tool_choice, parallel_tool_calls, user: user_id, response_format, ...own } = parameters;
  const format = response_format as { json_schema: { schema: Json } } | undefined;
  const choice = { auto: 'auto', required: 'any' }[tool_choice as string];
  return {
    model: rest.model,
    max_tokens: rest.max_tokens,
    ...(rest.stream && { stream: true }),
    ...(rest.temperature !== undefined && { temperature: rest.temperature }),
    ...own,
    ...(isPrompt && { system: blocksOf(first.content) }),
    messages: turnsOf(isPrompt ? others : given),
    ...(stop && { stop_sequences: stop }),
    ...(tools && {
      tools: tools.map(({ function: { parameters: input_schema, ...named }, cache_control }) => ({
        ...named,
        input_schema,
        ...(cache_control && { cache_control }),
      })),
    }),
    ...(choice && {
      tool_choice: {
        type: choice,
        ...(parallel_tool_calls === false && { disable_parallel_tool_use: true }),
      },
    }),
    ...(user_id !== undefined && { metadata: { user_id } }),
    ...(format && {
      output_config: { format: { type: 'json_schema', schema: format.json_schema.schema } },
    }),
  };
}

/** Results of tools and what is said behind them are one turn of the user. */
function turnsOf(given: readonly Message[]): Json[] {
  return given.map(message => ({
    role: message.role === 'assistant' ? 'assistant' : 'user',
    content: [
      ...(message.reasoning_details ?? []).map(thinkingOf),
      ...(message.role === 'tool'
        ? [{ type: 'tool_result', tool_use_id: message.tool_call_id, content: blocksOf(message.content) }]
        : blocksOf(message.content)),
      ...(message.tool_calls ?? []).map(({ id, function: { name, arguments: input }, cache_control }) => ({
        type: 'tool_use',
        id,
        name,
        input: JSON.parse(input),
        ...(cache_control && { cache_control }),
      })),
    ],
  }));
}

const thinkingOf = ({ type, text, signature, data }: ReasoningDetail): Json =>
  type === 'reasoning.text'
    ? { type: 'thinking', thinking: text, signature }
    : { type: 'redacted_thinking', data };

const blocksOf = (content: Message['content']): Json[] =>
  typeof content === 'string'
    ? content === ''
      ? []
      : [{ type: 'text', text: content }]
    : (content ?? []).map(blockOf);

function blockOf(part: ContentPart): Json {
  const { cache_control } = part;
  const mark = cache_control && { cache_control };
  if (part.type === 'text') return { type: 'text', text: part.text, ...mark };
  const [, media_type, data] = /^data:([^;]+);base64,(.*)$/.exec(part.image_url.url) ?? [];
  const source =
    data === undefined ? { type: 'url', url: part.image_url.url } : { type: 'base64', media_type, data };
  return { type: 'image', source, ...mark };
}

/** A request in the style of `encoded`: contents as blocks, each result a turn, marks of results on their last part. */
function plain(given: Json): Json {
  const { stream, system, messages: turns, ...rest } = given;
  const shown = (turns as Json[]).flatMap(({ role, content }) => {
    const blocks = blocksIn(content);
    const results = blocks.filter(({ type }) => type === 'tool_result');
    const others = blocks.filter(({ type }) => type !== 'tool_result');
    return [...results.map(one => [marked(one)]), ...(others.length > 0 ? [others] : [])].map(own => ({
      role,
      content: own,
    }));
  });
  return {
    ...rest,
    ...(stream === true && { stream }),
    ...(system !== undefined && { system: blocksIn(system) }),
    messages: shown,
  };
}

const blocksIn = (content: unknown): Json[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : (content as Json[]);

function marked({ cache_control, content, ...result }: Json): Json {
  const own = blocksIn(content);
  const last = own.length - 1;
  return {
    ...result,
    content: own.map((block, at) => (at === last && cache_control ? { ...block, cache_control } : block)),
  };
}

describe('a Messages request', () => {
  it('comes back from the canonical form as it was', () => {
    fc.assert(
      fc.property(request, given => {
        const parsed = dialect.parse(structuredClone(given));
        expect(encoded(parsed)).toEqual(plain(given));
        expect(parsed.unknown).toEqual({});
      }),
    );
  });

  it('has every field that it loses among the ones that are named', () => {
    const places: Readonly<Record<string, (given: Json, name: string) => void>> = {
      '': (given, name) => Object.assign(given, { [name]: 1 }),
      'messages.': (given, name) => Object.assign((given.messages as Json[]).at(-1)!, { [name]: 1 }),
      'messages.content.': (given, name) => {
        const last = (given.messages as Json[]).at(-1)!;
        last.content = blocksIn(last.content);
        Object.assign((last.content as Json[])[0]!, { [name]: 1 });
      },
      'system.': (given, name) => Object.assign(given, { system: [{ type: 'text', text: 'a', [name]: 1 }] }),
      'tools.': (given, name) =>
        Object.assign(given, { tools: [{ name: 'a', input_schema: {}, [name]: 1 }] }),
      'metadata.': (given, name) => Object.assign(given, { metadata: { [name]: 1 } }),
      'thinking.': (given, name) => Object.assign(given, { thinking: { type: 'adaptive', [name]: 1 } }),
      'output_config.': (given, name) => Object.assign(given, { output_config: { [name]: 1 } }),
      'tool_choice.': (given, name) => Object.assign(given, { tool_choice: { type: 'auto', [name]: 1 } }),
    };
    const name = id.map(given => `x_${given}`);
    fc.assert(
      fc.property(request, fc.constantFrom(...Object.keys(places)), name, (given, place, name) => {
        const more = structuredClone(given);
        places[place]!(more, name);
        expect(Object.keys(dialect.parse(more).unknown)).toEqual([place + name]);
      }),
    );
  });
});
