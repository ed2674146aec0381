import { readFileSync } from 'node:fs';
import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'expect';
import OpenAI from 'openai';
import { clientKey } from '../../support/gateway-under-test.ts';
import { startScriptedUpstream, streamed, whole } from '../../support/scripted-upstream.ts';
import { gatewayWith, untilTheEnd } from '../place.ts';
import { triedOf } from '../tried.ts';

const model = 'aion-labs/aion-3.5';
const fixture = (name: string) =>
  readFileSync(new URL(`../../fixtures/providers/anthropic/${name}`, import.meta.url), 'utf8');

/** An upstream that searches, as Anthropic does: a reply with a search, its results and a citation. */
const searching = untilTheEnd(
  await startScriptedUpstream((socket, { body }) => {
    const reply = body.stream
      ? streamed(fixture('blocks.sse'), { 'content-type': 'text/event-stream' })
      : whole(200, JSON.parse(fixture('blocks.json')));
    socket.write(reply);
  }),
);
const { url } = await gatewayWith({
  upstream: searching.url,
  adapter: 'anthropic',
  provider: { hosted_tools: ['web_search'] },
});
const openAi = new OpenAI({ apiKey: clientKey, baseURL: `${url}/v1`, maxRetries: 0 });
const query = 'x';
const searchSent = () => {
  expect(searching.last.body.tools).toEqual([
    expect.objectContaining({ type: 'web_search_20250305', name: 'web_search' }),
  ]);
};

triedOf('web search', 'anthropicMessages', {
  "has the upstream's own blocks and its searches, whole and streamed": async () => {
    const client = new Anthropic({ apiKey: clientKey, baseURL: url, maxRetries: 0 });
    const asked = {
      model,
      max_tokens: 100,
      messages: [{ role: 'user' as const, content: 'Why do rivers bend?' }],
      tools: [{ type: 'web_search_20250305' as const, name: 'web_search' as const, max_uses: 8 }],
      tool_choice: { type: 'tool' as const, name: 'web_search' },
    };
    const replies = [await client.messages.create(asked), await client.messages.stream(asked).finalMessage()];
    searchSent();
    for (const { content, usage } of replies) {
      expect(content).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ type: 'server_tool_use', name: 'web_search', input: { query } }),
          expect.objectContaining({ type: 'web_search_tool_result', content: [] }),
          expect.objectContaining({ type: 'text', text: 'Water ', citations: [{ type: 'char_location' }] }),
        ]),
      );
      expect(usage.server_tool_use).toMatchObject({ web_search_requests: 1 });
    }
    // What it got goes back as it is.
    const [{ content }] = replies as [{ content: Anthropic.ContentBlockParam[] }, unknown];
    const history = [...asked.messages, { role: 'assistant' as const, content }, ...asked.messages];
    await client.messages.create({ ...asked, messages: history });
    const sent = searching.last.body.messages as { content: object[] }[];
    const said = content.filter(({ type }) => !type.endsWith('thinking'));
    expect(sent[1]!.content).toEqual(expect.arrayContaining(said));
  },
});

triedOf('web search', 'openAiResponses', {
  'is an item of its own, whole and streamed': async () => {
    const asked = { model, input: 'Why do rivers bend?', tools: [{ type: 'web_search' as const }] };
    const replies = [
      await openAi.responses.create(asked),
      await openAi.responses.stream(asked).finalResponse(),
    ];
    searchSent();
    for (const { output, output_text } of replies) {
      expect(output_text).toBe('Water cuts.');
      expect(output).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ type: 'web_search_call', action: expect.objectContaining({ query }) }),
        ]),
      );
    }
  },
});

triedOf('web search', 'openAiChat', {
  'reaches an upstream that has it': async () => {
    const messages = [{ role: 'user' as const, content: 'Why do rivers bend?' }];
    const { choices } = await openAi.chat.completions.create({ model, messages, web_search_options: {} });
    searchSent();
    expect(choices[0]!.message.content).toBe('Water cuts.');
  },
});
