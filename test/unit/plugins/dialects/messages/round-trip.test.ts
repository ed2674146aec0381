import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { adapterOf } from '../../../../support/provider-fixtures.ts';
import { messageFormat } from '../../../src/gateway/dialects/renderings.ts';

const adapter = adapterOf('anthropic', { strict_tools: true });
const target = { model: 'claude-sonnet-4-5', effortMap: {}, extraParameters: [] };

type Json = Record<string, unknown>;

/** The adapter leaves out blank texts. */
const text = fc.string({ unit: 'grapheme', maxLength: 12 }).map(more => `a${more}`);
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
const result = typed(
  'tool_result',
  { tool_use_id: id, content: fc.oneof(text, parts) },
  {
    ...cache,
    is_error: fc.constant(true),
  },
);
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
  { description: text, strict: fc.constant(true), ...cache },
);
/** Requests of which everything has a place in the canonical form. */
const request = some(
  {
    model: fc.constant('a/b'),
    max_tokens: fc.integer({ min: 1, max: 9000 }),
    messages: fc.array(turn, { minLength: 1, maxLength: 4 }),
    tools: fc.array(tool, { minLength: 1, maxLength: 2 }),
  },
  {
    system: fc.oneof(text, fc.array(textBlock, { minLength: 1, maxLength: 2 })),
    stop_sequences: fc.array(text, { minLength: 1, maxLength: 2 }),
    stream: fc.boolean(),
    temperature: fc.double({ min: 0, max: 1, noNaN: true }),
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

/** The request as a server gets it: contents as blocks, one turn after the other, each result with the mark of its last part. */
function shaped({ stream, system, messages: said, ...rest }: Json): Json {
  const prompt = system === undefined ? [] : blocksIn(system);
  const joined = prompt.some(({ cache_control }) => cache_control)
    ? prompt
    : prompt.map(({ text }) => text).join('\n');
  const turns: { role: unknown; content: Json[] }[] = [];
  for (const { role, content } of said as Json[]) {
    const blocks = blocksIn(content);
    const last = turns.at(-1);
    if (last?.role === role) last?.content.push(...blocks);
    else turns.push({ role, content: blocks });
  }
  const messages = turns.map(({ role, content }) => {
    const [results, others] = [true, false].map(is =>
      content.filter(({ type }) => (type === 'tool_result') === is),
    );
    return { role, content: [...results!.map(marked), ...others!] };
  });
  return {
    ...rest,
    model: target.model,
    messages,
    ...(stream === true && { stream }),
    ...(joined.length > 0 && { system: joined }),
  };
}

const blocksIn = (content: unknown): Json[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : [...(content as Json[])];

function marked({ cache_control: mark, content, ...result }: Json): Json {
  const own = blocksIn(content);
  const { cache_control, ...last } = own.pop()!;
  const kept = mark ?? cache_control;
  return { ...result, content: [...own, last], ...(kept !== undefined && { cache_control: kept }) };
}

/** Marks of a request: a server takes four of them. */
const marksIn = (body: unknown): number => JSON.stringify(body).split('"cache_control":').length - 1;

describe('a Messages request', () => {
  it('reaches a server of the same format as it was sent', () => {
    fc.assert(
      fc.property(request, given => {
        const parsed = messageFormat.parse(structuredClone(given));
        expect(parsed.unknown).toEqual({});
        const { body, ignored } = adapter.encode(parsed, target);
        const isMuchMarked = marksIn(shaped(given)) > 4;
        expect(ignored).toEqual(isMuchMarked ? ['cache_control'] : []);
        const withoutMarks = (value: unknown) =>
          JSON.parse(JSON.stringify(value, (name, one) => (name === 'cache_control' ? undefined : one)));
        expect(isMuchMarked ? withoutMarks(body) : body).toEqual(
          isMuchMarked ? withoutMarks(shaped(given)) : shaped(given),
        );
      }),
      { numRuns: 120 },
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
        expect(Object.keys(messageFormat.parse(more).unknown)).toEqual([place + name]);
      }),
    );
  });
});
