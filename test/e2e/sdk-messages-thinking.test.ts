import { readFileSync } from 'node:fs';
import Anthropic from '@anthropic-ai/sdk';
import { afterEach, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../src/simulator/server.ts';
import { alongside, closeApps } from '../support/express-app.ts';
import { clientKey, type GatewayOverrides, startGateway } from '../support/gateway-under-test.ts';
import {
  type ScriptedUpstream,
  startScriptedUpstream,
  streamed,
  whole,
} from '../support/scripted-upstream.ts';

afterEach(closeApps);

const model = 'aion-labs/aion-3.5';
const tools: Anthropic.Tool[] = [
  { name: 'roll', input_schema: { type: 'object', properties: { sides: { type: 'integer' } } } },
];
type Params = Anthropic.MessageCreateParamsNonStreaming;
const asking = (content: Anthropic.MessageParam['content'], more: Partial<Params> = {}): Params => ({
  model,
  max_tokens: 4000,
  messages: [{ role: 'user', content }],
  ...more,
});
const bothWays = [
  ['whole', (client: Anthropic, params: Params) => client.messages.create(params)],
  ['streamed', (client: Anthropic, params: Params) => client.messages.stream(params).finalMessage()],
] as const;

async function clientOf(overrides: GatewayOverrides): Promise<Anthropic> {
  const gateway = alongside(await startGateway({ ...overrides, config: { messages: { enabled: true } } }));
  return new Anthropic({ apiKey: clientKey, authToken: null, baseURL: gateway.url, maxRetries: 0 });
}

/** The turn with the results of its calls. */
function answered(content: Anthropic.ContentBlock[]): Anthropic.MessageParam[] {
  const results = content.flatMap(block =>
    block.type === 'tool_use'
      ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: 'Seventeen' }]
      : [],
  );
  return [
    { role: 'assistant', content },
    { role: 'user', content: results },
  ];
}

describe.each(bothWays)('in front of Anthropic itself, a message (%s)', (_, send) => {
  const start = async (options: object = {}, more: Partial<GatewayOverrides> = {}) => {
    const simulator = alongside(await startSimulator(options));
    // Nothing is remembered here, so that what comes back is what the client has.
    const provider = { remember_characters: 0 };
    return {
      simulator,
      client: await clientOf({ ...more, upstream: simulator, adapter: 'anthropic', provider }),
    };
  };

  it('brings signatures back in a loop of tools that demands them', async () => {
    const { simulator, client } = await start({ require_signatures: 'demanded' });
    const question = 'Roll. [[sim:step tool=roll args={"sides":6}]] [[sim:step tool=roll args={"sides":20}]]';
    const params = asking(question, { tools, thinking: { type: 'enabled', budget_tokens: 1024 } });
    for (const sides of [6, 20]) {
      const { content, stop_reason } = await send(client, params);
      expect(stop_reason).toBe('tool_use');
      expect(content[0]).toMatchObject({ type: 'thinking', signature: expect.stringMatching(/./) });
      expect(content.find(block => block.type === 'tool_use')?.input).toEqual({ sides });
      params.messages.push(...answered(content));
    }
    const { content, stop_reason } = await send(client, params);
    expect(stop_reason).toBe('end_turn');
    expect(content.at(-1)?.type).toBe('text');
    const sent = simulator.requests.at(-1)?.body as { messages: Anthropic.MessageParam[] };
    expect(sent.messages[1]).toEqual(params.messages[1]);
    expect(sent.messages[3]).toEqual(params.messages[3]);
  });

  it('keeps cache marks, cache figures and the stop sequence', async () => {
    const { simulator, client } = await start({ cached_tokens: 0.5, cache_creation: 0.25 });
    const cache_control = { type: 'ephemeral', ttl: '1h' } as const;
    const system = [{ type: 'text' as const, text: 'Be brief.', cache_control }];
    const marked = [{ type: 'text' as const, text: '[[sim:say=One END two]]', cache_control }];
    const message = await send(client, asking(marked, { system, stop_sequences: ['END'] }));
    expect(message).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: 'END' });
    const {
      input_tokens,
      cache_read_input_tokens: read,
      cache_creation_input_tokens: created,
    } = message.usage;
    const prompt = input_tokens + read! + created!;
    expect([read, created]).toEqual([Math.floor(prompt / 2), Math.floor(prompt / 4)]);
    expect(created).toBeGreaterThan(0);
    expect(simulator.requests.at(-1)?.body).toMatchObject({ system, messages: [{ content: marked }] });
  });

  it('carries images, also in results of tools', async () => {
    const architecture = { modality: 'text+image->text' };
    const { client } = await start({}, { model: { architecture } });
    const image = (data: string) => ({
      type: 'image' as const,
      source: { type: 'base64' as const, media_type: 'image/png' as const, data },
    });
    const use = { type: 'tool_use' as const, id: 'a', name: 'look', input: {} };
    const result = { type: 'tool_result' as const, tool_use_id: 'a', content: [image('d29ybGQ=')] };
    const params = asking([image('aGVsbG8='), { type: 'text', text: 'Look. [[sim:images]]' }]);
    params.messages.push({ role: 'assistant', content: [use] }, { role: 'user', content: [result] });
    const { content } = await send(client, params);
    const last = content.at(-1);
    expect(last).toMatchObject({ text: expect.stringMatching(/image\/png 5 bytes.*image\/png 5 bytes/) });
  });
});

describe.each(bothWays)('in front of OpenRouter, a message (%s)', (way, send) => {
  const file = (name: string) =>
    readFileSync(new URL(`../fixtures/providers/openrouter/${name}`, import.meta.url));
  const wire =
    way === 'whole'
      ? (name: string) => whole(200, file(`${name}.json`))
      : (name: string) => streamed(file(`${name}.sse`));

  async function loop(upstream: ScriptedUpstream): Promise<Anthropic.Message> {
    const provider = { remember_characters: 0 };
    const client = await clientOf({ upstream, adapter: 'openrouter', provider });
    const params = asking('Roll two dice.', { tools });
    const message = await send(client, params);
    upstream.reply(wire('answer'));
    await send(client, { ...params, messages: [...params.messages, ...answered(message.content)] });
    return message;
  }

  it('brings its signed reasoning back', async () => {
    const upstream = alongside(await startScriptedUpstream(wire('tools')));
    const { content } = await loop(upstream);
    expect(content.map(({ type }) => type)).toEqual(['thinking', 'tool_use', 'tool_use']);
    const thinking = content[0] as Anthropic.ThinkingBlock;
    expect(thinking.signature).not.toBe('');
    const sent = upstream.last.body.messages as { reasoning_details?: object[]; tool_calls?: object[] }[];
    expect(sent[1]).toMatchObject({
      reasoning_details: [{ type: 'reasoning.text', text: thinking.thinking, format: 'anthropic-claude-v1' }],
    });
    expect(sent[1]?.tool_calls).toHaveLength(2);
  });
});
