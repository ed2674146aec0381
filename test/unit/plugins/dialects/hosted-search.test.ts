import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isObject } from '../../../../src/common/json-object.ts';
import type { ChatRequest, Chunk, Completion } from '../../../../src/gateway/exchange/canonical.ts';
import type { Adapter } from '../../../../src/gateway/upstream/adapter.ts';
import { fitted } from '../../../../src/gateway/upstream/attempt/fit-request.ts';
import { adapterOf } from '../../../support/provider-fixtures.ts';
import {
  chatOf,
  identity,
  messageFormat,
  responsesOf,
  streamedBy,
} from '../../src/gateway/dialects/renderings.ts';
import { eventsIn } from '../../src/gateway/dialects/stream-readers.ts';

type Json = Record<string, unknown>;

const question = 'Why do rivers bend?';
const context = { path: '/', headers: {}, account_id: undefined };
const near = { city: 'Basel', country: 'CH' };
const messages = [{ role: 'user', content: question }];
const [allowed_domains, blocked_domains] = [['r.example'], ['x.example']];
const target = { model: 'claude-sonnet-4-5', effortMap: {}, extraParameters: [] };

/** The same search in each format, with a choice that forces it. */
const asked: Readonly<Record<string, ChatRequest>> = {
  chat: chatOf().parse({
    model: 'a/b',
    messages,
    web_search_options: {
      user_location: { type: 'approximate', approximate: near },
      filters: { allowed_domains },
    },
  }),
  responses: responsesOf().parse(
    {
      model: 'a/b',
      input: question,
      tools: [
        { type: 'web_search', user_location: { type: 'approximate', ...near }, filters: { allowed_domains } },
        { type: 'mcp', server_label: 'geo' },
      ],
      tool_choice: { type: 'web_search' },
    },
    context,
  ),
  messages: messageFormat.parse({
    model: 'a/b',
    max_tokens: 9,
    messages,
    tools: [
      {
        type: 'web_search_20250305',
        name: 'web_search',
        user_location: { type: 'approximate', ...near },
        allowed_domains,
      },
    ],
    tool_choice: { type: 'tool', name: 'web_search' },
  }),
};
const formats = Object.keys(asked);

/** What an adapter sends for a request, and what is left out. */
function sentBy(adapter: Adapter, request: ChatRequest): [Json, readonly string[]] {
  const { parameters } = adapter;
  const accepted = {
    parameters,
    drop: [],
    extra: [],
    messages: { fields: new Set<never>(), send_reasoning: 'never' as const },
  };
  const fit = fitted(request, accepted);
  return [JSON.parse(JSON.stringify(adapter.encode(fit.request, target).body)), fit.ignored];
}
const searching = (name: 'openai' | 'openrouter' | 'anthropic') =>
  adapterOf(name, { hosted_tools: ['web_search'] });

describe('a web search that a client asks for', () => {
  it.each(formats)('is the tool of Anthropic where its provider declares it: %s', format => {
    const [body, ignored] = sentBy(searching('anthropic'), asked[format]!);
    const user_location = { ...near, type: 'approximate' };
    const tool = { type: 'web_search_20250305', name: 'web_search', allowed_domains, user_location };
    expect(body.tools).toEqual([tool]);
    if (format !== 'chat') expect(body.tool_choice).toEqual({ type: 'tool', name: 'web_search' });
    expect(ignored).toEqual(format === 'responses' ? ['tools.mcp'] : []);
  });

  it.each(formats)('is the options of chat completions or a tool of OpenRouter: %s', format => {
    const location = { user_location: { type: 'approximate', approximate: near } };
    const [openai] = sentBy(searching('openai'), asked[format]!);
    expect(openai.web_search_options).toEqual(location);
    expect(openai).not.toHaveProperty('tool_choice');
    const [openrouter] = sentBy(searching('openrouter'), asked[format]!);
    expect(openrouter.tools).toEqual([
      { type: 'openrouter:web_search', parameters: { ...location, allowed_domains } },
    ]);
    expect(openrouter).not.toHaveProperty('web_search_options');
    expect(openrouter.tool_choice).toBe(format === 'chat' ? undefined : 'required');
  });

  it('is left out and named elsewhere, and refused if it is forced', () => {
    for (const name of ['openai', 'openrouter', 'anthropic', 'vllm', 'sglang', 'llama-cpp'] as const) {
      const [body, ignored] = sentBy(adapterOf(name), asked.chat!);
      expect(JSON.stringify(body)).not.toMatch(/web_search/);
      expect(ignored).toEqual(['web_search_options']);
      for (const format of ['responses', 'messages'])
        expect(() => sentBy(adapterOf(name), asked[format]!)).toThrow(
          /^tool_choice: must not force web_search/,
        );
    }
    const names = formats.map(format => asked[format]!.client?.field_names?.web_search_options);
    expect(names).toEqual([undefined, 'tools.web_search', 'tools.web_search_20250305']);
  });

  it('names what of it no upstream is told', () => {
    const fields = { model: 'a/b', input: question };
    const cached = { type: 'web_search', external_web_access: false, filters: { allowed_domains } };
    const unknownOf = (tool: object) =>
      Object.keys(responsesOf().parse({ ...fields, tools: [tool] }, context).unknown);
    expect(unknownOf(cached)).toEqual(['tools.external_web_access']);
    expect(unknownOf({ ...cached, external_web_access: true })).toEqual([]);
    const tool = { type: 'web_search_20250305', name: 'web_search', max_uses: 1, defer_loading: true };
    const { unknown } = messageFormat.parse({ model: 'a/b', max_tokens: 9, messages, tools: [tool] });
    expect(Object.keys(unknown)).toEqual(['tools.defer_loading']);
  });

  it('keeps domains that are blocked, the most uses and the tools of the client', () => {
    const parsed = messageFormat.parse({
      model: 'a/b',
      max_tokens: 9,
      messages,
      tools: [
        { type: 'web_search_20260209', name: 'web_search', max_uses: 8, blocked_domains },
        { name: 'roll', input_schema: { type: 'object' } },
      ],
    });
    const [{ tools }] = sentBy(searching('anthropic'), parsed);
    expect(tools).toEqual([
      { name: 'roll', input_schema: { type: 'object' } },
      { type: 'web_search_20250305', name: 'web_search', max_uses: 8, blocked_domains },
    ]);
    const chosen = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'roll' }] };
    const roll = { type: 'function', name: 'roll', parameters: {} };
    const fields = {
      model: 'a/b',
      input: question,
      tools: [roll, { type: 'web_search' }],
      tool_choice: chosen,
    };
    expect(responsesOf().parse(fields, context).parameters).not.toHaveProperty('web_search_options');
    expect(() =>
      responsesOf().parse({ ...fields, tools: [roll], tool_choice: { type: 'web_search' } }, context),
    ).toThrow(/^tool_choice\.type: /);
  });
});

const word = fc.stringMatching(/^[a-z]{1,6}[ .]$/);
const citation = fc.record({
  type: fc.constant('web_search_result_location'),
  url: word.map(name => `https://${name.trim()}example/`),
  title: word,
  encrypted_index: word,
  cited_text: word,
});
const text = fc.record({ type: fc.constant('text'), text: word });
const cited = fc.record({
  type: fc.constant('text'),
  text: word,
  citations: fc.array(citation, { minLength: 1, maxLength: 2 }),
});
const use = word.map(query => ({ type: 'server_tool_use', id: 's', name: 'web_search', input: { query } }));
const result = fc.constant({
  type: 'web_search_tool_result',
  tool_use_id: 's',
  content: [{ type: 'web_search_result', title: 'R' }],
});
/** Blocks of an answer, of which no text without citations is followed by another text: both would be one. */
const answer = fc
  .array(fc.oneof(text, cited, use, result), { minLength: 1, maxLength: 6 })
  .map(blocks =>
    blocks.filter(
      (block, at) => !(block.type === 'text' && !('citations' in block) && blocks[at + 1]?.type === 'text'),
    ),
  );

const message = (content: readonly object[]) => ({
  id: 'm',
  type: 'message',
  role: 'assistant',
  content,
  stop_reason: 'end_turn',
  usage: { input_tokens: 5, output_tokens: 7, server_tool_use: { web_search_requests: 2 } },
});

/** The events in which Anthropic sends such a message. */
function* eventsOf(content: readonly Json[]): Generator<Json> {
  const { usage, stop_reason, ...head } = message([]);
  yield { type: 'message_start', message: { ...head, usage: { input_tokens: 5, output_tokens: 1 } } };
  for (const [index, block] of content.entries()) {
    const { text: said, citations = [], input, ...rest } = block;
    const isText = block.type === 'text';
    const started = isText ? { type: 'text', text: '' } : { ...rest, ...(isObject(input) && { input: {} }) };
    yield { type: 'content_block_start', index, content_block: started };
    const delta = (more: object) => ({ type: 'content_block_delta', index, delta: more });
    for (const one of citations as Json[]) yield delta({ type: 'citations_delta', citation: one });
    if (isText) yield delta({ type: 'text_delta', text: said });
    if (isObject(input)) yield delta({ type: 'input_json_delta', partial_json: JSON.stringify(input) });
    yield { type: 'content_block_stop', index };
  }
  yield { type: 'message_delta', delta: { stop_reason }, usage };
  yield { type: 'message_stop' };
}

function chunksOf(content: readonly Json[]): Chunk[] {
  const stream = adapterOf('anthropic').openStream();
  return [...eventsOf(content)].flatMap(event =>
    stream.decode({ event: String(event.type), data: JSON.stringify(event), id: undefined } as never),
  );
}

/** The blocks to which a stream of messages adds up. */
function blocksIn(stream: string): Json[] {
  const blocks: Json[] = [];
  for (const { json } of eventsIn<Json>(stream)) {
    const index = Number(json!.index);
    if (json!.type === 'content_block_start') blocks[index] = { ...(json!.content_block as Json) };
    if (json!.type !== 'content_block_delta') continue;
    const { type, text: said, citation: one } = json!.delta as Json;
    const block = blocks[index]!;
    if (type === 'text_delta') block.text = String(block.text) + String(said);
    if (type === 'citations_delta') block.citations = [...((block.citations as object[]) ?? []), one];
  }
  return blocks;
}

describe('a reply with a web search', () => {
  const whole = (content: readonly object[]): Completion =>
    adapterOf('anthropic').decodeReply(message(content));

  it('has in messages the blocks of the upstream, whole and streamed', () => {
    fc.assert(
      fc.property(answer, content => {
        const given = content as unknown as Json[];
        const { content: blocks, usage } = JSON.parse(messageFormat.renderReply(identity(), whole(given)));
        expect(blocks).toEqual(given);
        expect(usage.server_tool_use).toEqual({ web_search_requests: 2 });
        expect(blocksIn(streamedBy(messageFormat, chunksOf(given)))).toEqual(given);
      }),
    );
  });

  it('has in responses the searches and citations, the same in a stream as whole', () => {
    fc.assert(
      fc.property(answer, fc.constantFrom('message' as const, 'summary' as const), (content, placement) => {
        const given = content as unknown as Json[];
        const form = responsesOf(placement);
        const { output } = JSON.parse(form.renderReply(identity(), whole(given))) as { output: Json[] };
        const searches = given.filter(({ type }) => type === 'server_tool_use');
        const queries = searches.map(({ input }) => (input as Json).query);
        const found = output.filter(({ type }) => type === 'web_search_call');
        expect(found.map(({ action }) => (action as Json).query)).toEqual(queries);
        const said = (items: Json[]) =>
          items.flatMap(item => (item.type === 'message' ? (item.content as Json[]) : []));
        const all = given.map(block => (block.type === 'text' ? block.text : '')).join('');
        expect(
          said(output)
            .map(part => part.text)
            .join(''),
        ).toBe(all);
        const urls = given.flatMap(({ citations = [] }) => (citations as Json[]).map(({ url }) => url));
        expect(said(output).flatMap(part => (part.annotations as Json[]).map(({ url }) => url))).toEqual(
          urls,
        );
        const events = eventsIn<Json>(streamedBy(form, chunksOf(given)));
        const last = events.findLast(({ json }) => json)!.json!.response as { output: Json[] };
        const streamed = last.output;
        expect(
          said(streamed)
            .map(part => part.text)
            .join(''),
        ).toBe(all);
        expect(said(streamed).flatMap(part => (part.annotations as Json[]).map(({ url }) => url))).toEqual(
          urls,
        );
        expect(streamed.filter(({ type }) => type === 'web_search_call')).toEqual(found);
        const added = events.filter(({ event }) => event === 'response.output_text.annotation.added');
        expect(added).toHaveLength(urls.length);
      }),
    );
  });

  it('has in chat completions annotations alone, with their places in the text', () => {
    fc.assert(
      fc.property(answer, content => {
        const given = content as unknown as Json[];
        const reply = JSON.parse(chatOf().renderReply(identity(), whole(given)));
        const { content: said, annotations = [], ...rest } = reply.choices[0].message;
        expect(rest).toEqual({ role: 'assistant' });
        const cited = given.flatMap(block =>
          ((block.citations as Json[]) ?? []).map(({ url }) => [url, block.text]),
        );
        expect(
          annotations.map(
            ({
              url_citation: { url, start_index, end_index },
            }: {
              url_citation: { url: string; start_index: number; end_index: number };
            }) => [url, said.slice(start_index, end_index)],
          ),
        ).toEqual(cited);
        const streamed = eventsIn<{ choices: { delta: { annotations?: object[] } }[] }>(
          streamedBy(chatOf(), chunksOf(given)),
        );
        expect(streamed.flatMap(({ json }) => json?.choices[0]?.delta.annotations ?? [])).toEqual(
          annotations,
        );
        expect(JSON.stringify(streamed)).not.toContain('server_tool_use');
      }),
    );
  });

  it('has the images that a model made, in each format', () => {
    const url = 'data:image/png;base64,aGk=';
    const images = [{ type: 'image_url', image_url: { url } }];
    const choice = { index: 0, finish_reason: 'stop' };
    const adapter = adapterOf('openrouter');
    const made = adapter.decodeReply({
      choices: [{ ...choice, message: { role: 'assistant', content: 'Here.', images } }],
    });
    const chunks = adapter.openStream().decode({
      data: JSON.stringify({ choices: [{ ...choice, delta: { content: 'Here.', images } }] }),
    } as never);
    const parsed = (format: { renderReply(...args: never[]): string }) =>
      JSON.parse(format.renderReply(identity() as never, made as never));
    expect(parsed(chatOf()).choices[0].message.images).toEqual(images);
    const item = {
      id: 'ig_5f2',
      type: 'image_generation_call',
      status: 'completed',
      result: 'aGk=',
      output_format: 'png',
    };
    expect(parsed(responsesOf()).output.at(-1)).toEqual(item);
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } };
    expect(parsed(messageFormat).content).toEqual([{ type: 'text', text: 'Here.' }, image]);
    expect(blocksIn(streamedBy(messageFormat, chunks))).toEqual([{ type: 'text', text: 'Here.' }, image]);
    for (const placement of ['message', 'item'] as const) {
      const events = eventsIn<Json>(streamedBy(responsesOf(placement), chunks));
      const { output } = events.findLast(({ json }) => json)!.json!.response as { output: Json[] };
      expect(output.at(-1)).toEqual(item);
    }
    expect(streamedBy(chatOf(), chunks)).toContain('"images":[{');
  });

  it('has citations in the form of messages where the upstream has them in that of OpenAI', () => {
    const url_citation = { url: 'https://r.example/', title: 'R', start_index: 0, end_index: 5 };
    const told = {
      role: 'assistant',
      content: 'Silt. More.',
      annotations: [{ type: 'url_citation', url_citation }],
    };
    const reply = adapterOf('openai').decodeReply({
      choices: [{ index: 0, finish_reason: 'stop', message: told }],
    });
    const { content } = JSON.parse(messageFormat.renderReply(identity(), reply));
    expect(content).toMatchObject([
      {
        text: 'Silt.',
        citations: [{ type: 'web_search_result_location', url: 'https://r.example/', title: 'R' }],
      },
      { text: ' More.' },
    ]);
  });
});
