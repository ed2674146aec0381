import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { messages } from '../../../../../plugins/dialects/messages/index.ts';
import { serverBlockWords } from '../../../../../plugins/dialects/messages/server-blocks.ts';
import type { ChatRequest } from '../../../../../src/gateway/exchange/canonical.ts';
import { withFitMessages } from '../../../../../src/gateway/upstream/attempt/fit-messages.ts';
import { bodyOf } from '../../providers/anthropic/encoded.ts';

const dialect = messages.create({ enabled: true }, { models: [] });
const user = { role: 'user', content: 'Why do rivers bend?' };
const parse = (...content: object[]): ChatRequest =>
  dialect.parse({
    model: 'a/b',
    max_tokens: 9,
    messages: [user, { role: 'assistant', content }, user],
  });
const said = { type: 'text', text: 'Silt.' };
/** The blocks as a server gets them that does not know them. */
const shownOf = (...content: object[]) =>
  withFitMessages(parse(...content), { fields: new Set(), send_reasoning: 'never' }).request.messages[1]!
    .content;

/** A block of each kind, as Anthropic's SDK has it, and what a model of another server reads of it. */
const samples: Readonly<Record<string, readonly [block: object, words: string]>> = {
  server_tool_use: [{ id: 's', name: 'web_search', input: { query: 'meanders' } }, '[web search: meanders]'],
  web_search_tool_result: [
    {
      tool_use_id: 's',
      content: [
        { type: 'web_search_result', title: 'Rivers', url: 'https://r.example/', encrypted_content: 'x' },
      ],
    },
    '[search results: Rivers https://r.example/]',
  ],
  web_fetch_tool_result: [
    { tool_use_id: 's', content: { type: 'web_fetch_result', url: 'https://r.example/' } },
    '[fetched page: https://r.example/]',
  ],
  code_execution_tool_result: [
    { tool_use_id: 's', content: { type: 'code_execution_result', stdout: '2', stderr: '', return_code: 0 } },
    '[code output: 2]',
  ],
  bash_code_execution_tool_result: [
    { tool_use_id: 's', content: { stdout: 'a', stderr: 'b' } },
    '[command output: a\nb]',
  ],
  text_editor_code_execution_tool_result: [
    { tool_use_id: 's', content: { error_code: 'unavailable' } },
    '[file output: error unavailable]',
  ],
  tool_search_tool_result: [
    { tool_use_id: 's', content: { tool_references: [{ type: 'tool_reference', tool_name: 'roll' }] } },
    '[tools found: roll]',
  ],
  advisor_tool_result: [
    { tool_use_id: 's', content: { type: 'advisor_result', text: 'Look.' } },
    '[advice: Look.]',
  ],
  mcp_tool_use: [
    { id: 'm', name: 'map', server_name: 'geo', input: { at: 1 } },
    '[call of map of geo: {"at":1}]',
  ],
  mcp_tool_result: [
    { tool_use_id: 'm', content: [{ type: 'text', text: 'A bend.' }] },
    '[result of the call: A bend.]',
  ],
  mcp_tool_listing: [{ mcp_server_name: 'geo', tools: [{ name: 'map' }] }, '[tools of geo: map]'],
  container_upload: [{ file_id: 'file_1' }, '[uploaded file: file_1]'],
  compaction: [{ content: 'They spoke of rivers.' }, 'They spoke of rivers.'],
  tool_addition: [{ tool: { type: 'tool_reference', tool_name: 'roll' } }, '[tool added: roll]'],
  tool_removal: [{ tool: { type: 'tool_reference', tool_name: 'roll' } }, '[tool removed: roll]'],
  fallback: [{ from: { model: 'a' }, to: { model: 'b' } }, '[another model went on]'],
};
const kinds = Object.keys(samples);
const blockOf = (type: string) => ({ type, ...samples[type]![0] });

describe('a block that only the servers of Anthropic make', () => {
  it('has a sample here for every kind', () => {
    expect(kinds.toSorted()).toEqual(Object.keys(serverBlockWords).toSorted());
  });

  it.each(kinds)('is words where no upstream knows it: %s', type => {
    expect(shownOf(blockOf(type), said)).toBe(`${samples[type]![1]}\nSilt.`);
    expect(parse(blockOf(type)).unknown).toEqual({});
  });

  it('goes to a server of Anthropic as it was given, in its place', () => {
    const content = kinds.flatMap(type => [blockOf(type), said]);
    const { messages: sent } = bodyOf(parse(...content)) as { messages: { content: object[] }[] };
    expect(sent[1]!.content).toEqual(content);
    const marked = { ...blockOf('container_upload'), cache_control: { type: 'ephemeral', ttl: '1h' } };
    const { messages: again } = bodyOf(parse(marked)) as { messages: { content: object[] }[] };
    expect(again[1]!.content).toEqual([marked]);
  });

  it('is accepted whatever its members are, and shown in part', () => {
    const members = [...new Set(kinds.flatMap(type => Object.keys(samples[type]![0])))];
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.constant('x'.repeat(50_000)),
      fc.constant(Array(3000).fill({ title: 'x', url: 'y' })),
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...kinds),
        fc.dictionary(fc.constantFrom(...members), value),
        (type, given) => {
          const shown = shownOf({ ...given, type });
          if (type !== 'compaction') expect(shown!.length).toBeLessThan(8100);
        },
      ),
    );
  });
});
