import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { historyItems } from '../../../../../plugins/dialects/responses/history-items.ts';
import { responses } from '../../../../../plugins/dialects/responses/index.ts';
import { defaultModels } from '../../../../../src/config/example-models.ts';
import { modelSchema } from '../../../../../src/config/model-schema.ts';
import type { Model } from '../../../../../src/gateway/catalog/catalog.ts';
import type { ChatRequest, Message } from '../../../../../src/gateway/exchange/canonical.ts';
import { message_fields, withFitMessages } from '../../../../../src/gateway/upstream/attempt/fit-messages.ts';

const [first] = defaultModels('x');
const seeing = {
  ...first!,
  id: 'a/seeing',
  architecture: { ...first!.architecture, modality: 'text+image->text' },
};
const models = [first!, seeing].map(entry => ({ ...modelSchema.parse(entry) }) as unknown as Model);
const dialect = responses.create({ reasoning_placement: 'auto' }, { models });
const context = { path: '/v1/responses', headers: {}, account_id: undefined };
const user = { role: 'user', content: 'Why do rivers bend?' };
const parse = (input: object[], model = first!.id): ChatRequest =>
  dialect.parse({ model, input: [user, ...input] }, context);
/** The messages after the first as servers get them that know none of these items. */
const shownOf = (...input: object[]): Message[] =>
  withFitMessages(parse(input), { fields: new Set(), send_reasoning: 'never' }).request.messages.slice(1);

/** An item of each kind, as OpenAI's SDK has it, and what a model of another server reads of it. */
const samples: Readonly<Record<string, readonly [item: object, words: string]>> = {
  web_search_call: [{ action: { type: 'search', query: 'meanders' } }, '[web search: meanders]'],
  file_search_call: [
    { queries: ['a', 'b'], results: [{ filename: 'r.pdf', text: 'Silt.' }] },
    '[file search: a; b, found: r.pdf: Silt.]',
  ],
  image_generation_call: [{ result: 'aGk=', revised_prompt: 'A river' }, '[image generation: A river]'],
  mcp_list_tools: [{ server_label: 'geo', tools: [{ name: 'map' }] }, '[tools of geo: map]'],
  mcp_approval_request: [
    { server_label: 'geo', name: 'map', arguments: '{"at":1}' },
    '[approval asked for map of geo: {"at":1}]',
  ],
  mcp_approval_response: [{ approval_request_id: 'r', approve: true }, '[approved]'],
  tool_search_call: [{ arguments: { query: 'maps' } }, '[tool search: {"query":"maps"}]'],
  tool_search_output: [{ tools: [{ type: 'function', name: 'map' }] }, '[tools found: map]'],
  compaction: [{ encrypted_content: 'abc' }, '[earlier conversation, compacted]'],
  context_compaction: [{ encrypted_content: 'abc' }, '[earlier conversation, compacted]'],
  configuration_update: [{ reasoning: { effort: 'low' } }, '[configuration changed]'],
  computer_call: [{ call_id: 'c1', action: { type: 'click', x: 1 } }, '{"type":"click","x":1}'],
  computer_call_output: [{ call_id: 'c0', output: { type: 'computer_screenshot' } }, '[screenshot]'],
  code_interpreter_call: [{ code: '1+1', outputs: [{ type: 'logs', logs: '2' }] }, '{"code":"1+1"}'],
  mcp_call: [{ server_label: 'geo', name: 'map', arguments: '{}', output: 'A bend.' }, 'A bend.'],
  program: [{ call_id: 'c2', code: 'run()' }, '{"code":"run()"}'],
  program_output: [{ call_id: 'c0', result: 'done' }, 'done'],
};
const called = { type: 'function_call', call_id: 'c0', name: 'roll', arguments: '{}' };
const kinds = Object.keys(samples);
const itemOf = (type: string) => ({ type, id: `i_${type}`, ...samples[type]![0] });

describe('an item that only the servers of OpenAI make', () => {
  it('has a sample here for every kind', () => {
    // These are no words and no calls: added-tools.test.ts, compaction-trigger.test.ts.
    const { additional_tools, compaction_trigger, ...others } = historyItems;
    expect([additional_tools, compaction_trigger]).not.toContain(undefined);
    expect(kinds.toSorted()).toEqual(Object.keys(others).toSorted());
  });

  it.each(kinds)('is words, a call or an output where no upstream knows it: %s', type => {
    expect(JSON.stringify(shownOf(called, itemOf(type)))).toContain(
      JSON.stringify(samples[type]![1]).slice(1, -1),
    );
    expect(JSON.stringify(shownOf(called, itemOf(type)))).not.toContain('native');
    expect(Object.keys(parse([called, itemOf(type)]).unknown)).toEqual([]);
  });

  it('goes as it was given to an upstream that speaks its form, unless it is a call', () => {
    for (const type of kinds) {
      const { request } = withFitMessages(parse([called, itemOf(type)]), {
        fields: new Set(message_fields),
        send_reasoning: 'always',
      });
      const parts = request.messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
      const natives = parts.flatMap(part => ('native' in part ? [part.native] : []));
      const isCall = parts.length === 0;
      expect(natives).toEqual(isCall ? [] : [{ format: 'openai-responses', item: itemOf(type) }]);
    }
  });

  it('stands in the turn of the answer to which it belongs', () => {
    const answer = { role: 'assistant', content: 'Silt.', name: 'a' };
    const thought = { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] };
    expect(shownOf(itemOf('web_search_call'), itemOf('image_generation_call'), answer)).toEqual([
      { ...answer, content: '[web search: meanders]\n[image generation: A river]\nSilt.' },
    ]);
    expect(parse([thought, itemOf('web_search_call'), answer, user]).messages[1]).toMatchObject({
      reasoning: 'Hm.',
    });
    expect(shownOf(answer, user, itemOf('web_search_call'), user, answer)).toMatchObject([
      answer,
      user,
      { role: 'assistant', content: '[web search: meanders]' },
      user,
      answer,
    ]);
  });

  it('is the call of a function and its output where it has both', () => {
    const [call, output] = shownOf(itemOf('mcp_call'));
    expect(call!.tool_calls).toMatchObject([{ function: { name: 'geo__map', arguments: '{}' } }]);
    expect(output).toEqual({ role: 'tool', tool_call_id: 'i_mcp_call', content: 'A bend.' });
    expect(shownOf(itemOf('code_interpreter_call'))[1]).toMatchObject({ role: 'tool', content: '2' });
    const broken = { ...itemOf('mcp_call'), arguments: 'no json' };
    expect(shownOf(broken)[0]!.tool_calls![0]!.function.arguments).toBe('{"input":"no json"}');
  });

  it('shows a screen to models that take images alone', () => {
    const image_url = 'data:image/png;base64,aGk=';
    const items = [
      itemOf('computer_call'),
      { type: 'computer_call_output', call_id: 'c1', output: { image_url } },
    ];
    expect(parse(items).messages.at(-1)!.content).toBe('[screenshot]');
    expect(parse(items, 'a/seeing').messages.at(-1)!.content).toEqual([
      { type: 'image_url', image_url: { url: image_url } },
    ]);
  });

  it('is accepted and bounded whatever its members are', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...kinds),
        fc.dictionary(
          fc.constantFrom(...new Set(kinds.flatMap(type => Object.keys(samples[type]![0])))),
          fc.oneof(
            fc.jsonValue({ maxDepth: 3 }),
            fc.constant('x'.repeat(100_000)),
            fc.constant(Array(5000).fill({ name: 'x' })),
          ),
        ),
        (type, members) => {
          // What brings tools declares them, and they are checked as all others.
          const { tools, ...others } = members;
          const given = type === 'tool_search_output' || type === 'additional_tools' ? others : members;
          const shown = shownOf(called, { ...given, type, id: 'i', call_id: 'c0' });
          const notes = shown.flatMap(({ role, content }) =>
            role === 'tool' ? [] : [String(content ?? '')],
          );
          expect(Math.max(0, ...notes.map(({ length }) => length))).toBeLessThan(8100);
        },
      ),
    );
  });

  it('is refused by its type if it is of no known kind, with those that are', () => {
    expect(() => parse([{ type: 'hologram_call', id: 'h' }])).toThrow(
      /input\[1\]\.type: must be one of: message, .*web_search_call/,
    );
  });
});
