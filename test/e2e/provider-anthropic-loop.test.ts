import Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { assembledReply } from '../support/provider-fixtures.ts';

let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator({
    require_signatures: 'demanded',
    cached_tokens: 0.5,
    cache_creation: 0.25,
  });
});

afterAll(() => simulator?.close());

const model = 'aion-labs/aion-3.5';
const steps = ['ls', 'pwd'].map(command => `[[sim:step tool=bash args={"command":"${command}"}]]`).join(' ');
const signaturesSent = () => JSON.stringify(simulator.requests.at(-1)?.body).match(/"signature":"/g) ?? [];

describe('a tool loop of chat completions with a server that demands signatures', () => {
  const tools = [{ type: 'function', function: { name: 'bash', parameters: { type: 'object' } } }];
  let gateway: GatewayUnderTest;

  beforeAll(async () => {
    gateway = await startGateway({ upstream: simulator, adapter: 'anthropic' });
  });

  afterAll(() => gateway?.close());

  it.each([true, false])('is given those that the gateway remembers, streamed: %s', async stream => {
    const messages: object[] = [{ role: 'user', content: `Look, streamed: ${stream}. ${steps}` }];
    const body = { model, tools, messages };
    const finishes: string[] = [];
    for (let turn = 0; turn < 3; turn++) {
      const [choice] = stream ? await streamed(body) : await whole(body);
      const { message, finish_reason } = choice!;
      expect(message.reasoning).toMatch(/^The user mentions/);
      finishes.push(finish_reason);
      // A client of chat completions sends neither reasoning nor signatures.
      messages.push({ role: 'assistant', content: message.content, tool_calls: message.tool_calls });
      for (const { id } of message.tool_calls ?? [])
        messages.push({ role: 'tool', tool_call_id: id, content: 'Some files.' });
    }
    expect(finishes).toEqual(['tool_calls', 'tool_calls', 'stop']);
    expect(signaturesSent()).toHaveLength(2);
  });

  async function streamed(body: object) {
    const { events } = await gateway.stream(body);
    return assembledReply(events.slice(0, -1).map(({ json }) => ({ choices: [...json.choices!] }))).choices;
  }

  async function whole(body: object) {
    return ((await (await gateway.post(body)).json()) as ReturnType<typeof assembledReply>).choices;
  }
});

describe("Anthropic's client through the gateway to a server of the same API", () => {
  const tools: Anthropic.Tool[] = [{ name: 'bash', input_schema: { type: 'object' } }];
  const thinking = { type: 'enabled', budget_tokens: 1024 } as const;
  let gateway: GatewayUnderTest;
  let send: (
    params: Anthropic.MessageCreateParamsNonStreaming,
    stream: boolean,
  ) => Promise<Anthropic.Message>;

  beforeAll(async () => {
    gateway = await startGateway({
      upstream: simulator,
      adapter: 'anthropic',
      provider: { remember_characters: 0 },
      config: { messages: { enabled: true } },
    });
    const { messages } = new Anthropic({
      apiKey: clientKey,
      authToken: null,
      baseURL: gateway.url,
      maxRetries: 0,
    });
    send = (params, stream) =>
      stream ? messages.stream(params).finalMessage() : messages.create({ ...params, stream: false });
  });

  afterAll(() => gateway?.close());

  it.each([true, false])(
    'hands signatures there and back, with nothing remembered, streamed: %s',
    async stream => {
      const messages: Anthropic.MessageParam[] = [
        { role: 'user', content: `Look again, ${stream}. ${steps}` },
      ];
      const kinds: string[][] = [];
      for (let turn = 0; turn < 3; turn++) {
        const { content } = await send({ model, max_tokens: 4000, thinking, tools, messages }, stream);
        kinds.push(content.map(({ type }) => type));
        const calls = content.filter(block => block.type === 'tool_use');
        const results = calls.map(
          ({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'Files.' }) as const,
        );
        messages.push({ role: 'assistant', content }, { role: 'user', content: results });
      }
      expect(kinds).toEqual([
        ['thinking', 'tool_use'],
        ['thinking', 'tool_use'],
        ['thinking', 'text'],
      ]);
      expect(signaturesSent()).toHaveLength(2);
    },
  );

  it.each([true, false])('keeps stop sequences and the figures of the cache, streamed: %s', async stream => {
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: '[[sim:say=One END two]]' }];
    const params = { model, max_tokens: 100, stop_sequences: ['END'], messages };
    const { stop_reason, stop_sequence, usage } = await send(params, stream);
    expect([stop_reason, stop_sequence]).toEqual(['stop_sequence', 'END']);
    const { input_tokens, cache_read_input_tokens: read, cache_creation_input_tokens: created } = usage;
    const prompt = input_tokens + read! + created!;
    expect([read, created]).toEqual([Math.floor(prompt / 2), Math.floor(prompt / 4)]);
  });
});
