import Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { ledgerOf } from '../fixtures/stages/ledger.ts';
import { clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { ownStages } from '../support/settlement.ts';
import { until } from '../support/until.ts';

const book = 'sdk-messages';
const model = 'aion-labs/aion-3.5';
const question = 'Why do rivers bend?';
const entries = ledgerOf(book);
let simulator: Simulator;
let gateway: GatewayUnderTest;
let anthropic: Anthropic;

beforeAll(async () => {
  simulator = await startSimulator({ cached_tokens: 0.5, tokens_per_chunk: 3 });
  gateway = await startGateway({
    upstream: simulator,
    stages: ownStages(['ledger', { book }]),
    config: { messages: { enabled: true } },
  });
  anthropic = new Anthropic({ apiKey: clientKey, authToken: null, baseURL: gateway.url, maxRetries: 0 });
});

afterAll(async () => {
  await gateway?.close();
  await simulator?.close();
});

const asked = (content: Anthropic.MessageParam['content'], more: object = {}) => ({
  model,
  max_tokens: 2000,
  messages: [{ role: 'user' as const, content }],
  ...more,
});
/** What the upstream says to the last request that reached it. */
async function truth() {
  const { stream, stream_options, ...body } = simulator.requests.at(-1)!.body as Record<string, unknown>;
  const reply = await fetch(`${simulator.url}/chat/completions`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  const { choices, usage } = (await reply.json()) as {
    choices: { message: { content: string; reasoning: string } }[];
    usage: {
      prompt_tokens: number;
      completion_tokens: number;
      prompt_tokens_details: { cached_tokens: number };
    };
  };
  return { ...choices[0]!.message, usage };
}
const sent = () => simulator.requests.at(-1)!.body as Record<string, unknown>;
const textOf = ({ content }: Anthropic.Message) =>
  content.flatMap(b => (b.type === 'text' ? b.text : [])).join('');
const thinkingOf = ({ content }: Anthropic.Message) =>
  content.flatMap(b => (b.type === 'thinking' ? b.thinking : [])).join('');

describe('the Anthropic SDK on /v1/messages', () => {
  it('has a whole reply with thinking, text and usage', async () => {
    const message = await anthropic.messages.create(asked(question));
    const { content, reasoning, usage } = await truth();
    expect(message).toMatchObject({ type: 'message', role: 'assistant', model, stop_reason: 'end_turn' });
    expect(message.id).toMatch(/^msg_./);
    expect(message._request_id).toMatch(/./);
    expect([textOf(message), thinkingOf(message)]).toEqual([content, reasoning]);
    const { cached_tokens } = usage.prompt_tokens_details;
    expect(cached_tokens).toBeGreaterThan(0);
    expect(message.usage).toMatchObject({
      input_tokens: usage.prompt_tokens - cached_tokens,
      cache_read_input_tokens: cached_tokens,
      cache_creation_input_tokens: 0,
      output_tokens: usage.completion_tokens,
    });
  });

  it('has the same of a stream, piece by piece', async () => {
    const whole = await anthropic.messages.create(asked(question));
    const stream = anthropic.messages.stream(asked(question));
    let text = '';
    let pieces = 0;
    stream.on('text', piece => {
      text += piece;
      pieces++;
    });
    const final = await stream.finalMessage();
    expect(final.content).toEqual(whole.content);
    expect(final.usage).toEqual(whole.usage);
    expect(final.stop_reason).toBe('end_turn');
    expect(text).toBe(textOf(whole));
    expect(pieces).toBeGreaterThan(5);
  });

  it('begins a stream with the tokens of the prompt', async () => {
    const events: Anthropic.RawMessageStreamEvent[] = [];
    for await (const event of await anthropic.messages.create(
      asked(question, { stream: true }) as never as Anthropic.MessageCreateParamsStreaming,
    ))
      events.push(event);
    const [first] = events;
    expect(first?.type === 'message_start' && first.message.usage.input_tokens).toBeGreaterThan(0);
    expect(events.filter(({ type }) => type === 'message_delta')).toHaveLength(1);
    expect(events.at(-1)?.type).toBe('message_stop');
  });

  it('has running usage in message_delta events, if asked', async () => {
    const options = { stream_options: { continuous_usage_stats: true } };
    const stream = anthropic.messages.stream(asked(question, options));
    const output: number[] = [];
    stream.on('streamEvent', event => {
      if (event.type === 'message_delta') output.push(event.usage.output_tokens);
    });
    const { usage } = await stream.finalMessage();
    expect(output.length).toBeGreaterThan(5);
    expect(output).toEqual(output.toSorted((a, b) => a - b));
    expect(output.at(-1)).toBe(usage.output_tokens);
  });

  it('names the stop sequence that vLLM reports', async () => {
    const params = asked('[[sim:say=One END two]]', {
      stop_sequences: ['END'],
      thinking: { type: 'disabled' },
    });
    for (const message of [
      await anthropic.messages.create(params),
      await anthropic.messages.stream(params).finalMessage(),
    ])
      expect(message).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: 'END' });
  });

  it('says when the cap is reached', async () => {
    const message = await anthropic.messages.create(asked(question, { max_tokens: 5 }));
    expect(message).toMatchObject({ stop_reason: 'max_tokens', usage: { output_tokens: 5 } });
    expect(textOf(message)).toBe('');
  });

  it('maps thinking to a level of the model, and names what it leaves out', async () => {
    const { data, response } = await anthropic.messages
      .create(
        asked(question, {
          thinking: { type: 'enabled', budget_tokens: 1024 },
          top_k: 5,
          service_tier: 'auto',
          system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
          metadata: { user_id: 'u-1' },
        }) as Anthropic.MessageCreateParamsNonStreaming,
      )
      .withResponse();
    expect(textOf(data)).not.toBe('');
    expect(sent()).toMatchObject({ reasoning_effort: 'low', user: 'u-1' });
    expect(response.headers.get('x-ignored-parameters')?.split(', ').sort()).toEqual([
      'cache_control',
      'service_tier',
      'top_k',
    ]);
  });

  it.each([false, true])('runs a loop of tools (stream: %s)', async streamed => {
    const tools = [
      {
        name: 'roll',
        description: 'Rolls a die.',
        input_schema: { type: 'object' as const, properties: { sides: { type: 'integer' } } },
      },
    ];
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Roll. [[sim:tool calls=2]]' }];
    const answer = () => {
      const body = { model, max_tokens: 2000, tools, messages };
      return streamed ? anthropic.messages.stream(body).finalMessage() : anthropic.messages.create(body);
    };
    const called = await answer();
    expect(called.stop_reason).toBe('tool_use');
    const uses = called.content.filter(block => block.type === 'tool_use');
    expect(uses).toHaveLength(2);
    for (const { input } of uses) expect(input).toEqual({ sides: expect.any(Number) });
    const results = uses.map(({ id }, at) => ({
      type: 'tool_result' as const,
      tool_use_id: id,
      content: `It shows ${at}`,
    }));
    messages.push({ role: 'assistant', content: called.content }, { role: 'user', content: results });
    expect(textOf(await answer())).toContain('It shows');
    expect(sent().messages).toMatchObject([
      { role: 'user' },
      {
        role: 'assistant',
        reasoning_content: thinkingOf(called),
        tool_calls: uses.map(({ id }) => ({ id })),
      },
      { role: 'tool', tool_call_id: uses[0]!.id, content: 'It shows 0' },
      { role: 'tool', tool_call_id: uses[1]!.id, content: 'It shows 1' },
    ]);
  });

  it('runs a loop of tools by its tool runner, which sends whole conversations after the first refusal', async () => {
    const requests = simulator.requests.length;
    const runner = anthropic.beta.messages.toolRunner({
      ...asked('Roll. [[sim:tool]]'),
      tools: [
        {
          type: 'custom',
          name: 'roll',
          input_schema: { type: 'object', properties: {} },
          parse: input => input,
          run: async () => 'It shows 6',
        },
      ],
    });
    expect(textOf((await runner) as Anthropic.Message)).toContain('It shows 6');
    expect(simulator.requests).toHaveLength(requests + 2);
    expect(sent().messages).toMatchObject([{ role: 'user' }, { role: 'assistant' }, { role: 'tool' }]);
  });

  it('is aborted upstream when the client leaves, and billed', async () => {
    const { aborted } = simulator.stats;
    const stream = anthropic.messages.stream(asked('Hello [[sim:tokens=endless tps=100 chunk=1]]'));
    let events = 0;
    await expect(
      (async () => {
        for await (const _ of stream) if (++events === 20) stream.abort();
      })(),
    ).rejects.toThrow(Anthropic.APIUserAbortError);
    await until(() => simulator.stats.aborted === aborted + 1);
    await until(() => entries.at(-1)?.outcome.end_reason === 'client_gone');
    expect(entries.at(-1)?.outcome).toMatchObject({ endpoint: 'messages', status: 200 });
    expect(entries.at(-1)?.outcome.usage.completion_tokens).toBeGreaterThan(5);
  });

  it('takes the key in either header', async () => {
    const bearer = new Anthropic({ apiKey: null, authToken: clientKey, baseURL: gateway.url, maxRetries: 0 });
    expect(textOf(await bearer.messages.create(asked(question)))).not.toBe('');
    const headers = { authorization: `Api-Key ${clientKey}` };
    expect((await gateway.post(asked(question), { path: '/v1/messages?beta=true', headers })).status).toBe(
      200,
    );
    const bare = { authorization: '', 'x-api-key': clientKey };
    expect((await gateway.post({ model, messages: [] }, { headers: bare })).status).toBe(401);
  });

  it('is counted under an endpoint of its own', async () => {
    const counted = async (labels?: Record<string, string>) =>
      (await gateway.metric('sluice_requests_total', labels)) || 0;
    const own = { endpoint: 'messages', end_reason: 'completed' };
    const [all, before] = [await counted(), await counted(own)];
    await anthropic.messages.create(asked(question));
    await until(async () => (await counted()) > all);
    expect([await counted(), await counted(own)]).toEqual([all + 1, before + 1]);
  });
});

describe('the Anthropic SDK on /v1/messages/count_tokens', () => {
  it('has the tokens of a prompt, without asking the upstream or billing any', async () => {
    const before = simulator.requests.length;
    const system = 'Be brief. '.repeat(20);
    const short = await anthropic.messages.countTokens({
      model,
      messages: [{ role: 'user', content: question }],
    });
    const long = await anthropic.messages.countTokens({
      model,
      system,
      messages: [{ role: 'user', content: question }],
    });
    expect(short.input_tokens).toBeGreaterThan(5);
    expect(long.input_tokens).toBeGreaterThan(short.input_tokens + 20);
    expect(simulator.requests).toHaveLength(before);
    await until(() => entries.at(-1)?.outcome.endpoint === 'messages.count-tokens');
    expect(entries.at(-1)?.outcome).toMatchObject({
      account: 'tester',
      model,
      status: 200,
      end_reason: 'completed',
      cost_usd: '0',
      attempts: { length: 0 },
      usage: { prompt_tokens: 0, completion_tokens: 0 },
    });
  });

  it('needs a key and a valid body', async () => {
    const count = (body: object, key = clientKey) =>
      gateway.post(body, { path: '/v1/messages/count_tokens', headers: { authorization: `Bearer ${key}` } });
    expect((await count(asked(question), 'sk-unknown')).status).toBe(401);
    const invalid = await count({ model, messages: [{ role: 'user', content: [{ type: 'audio' }] }] });
    expect(invalid.status).toBe(400);
    expect(await invalid.json()).toMatchObject({
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: expect.stringMatching(/^messages\[0\]\.content\[0\]\.type: /),
      },
    });
    expect((await count(asked(question, { model: 'nobody/knows' }))).status).toBe(400);
  });
});

it('offers no /v1/messages unless it is enabled', async () => {
  const plain = await startGateway({ upstream: simulator });
  for (const path of ['/v1/messages', '/v1/messages/count_tokens']) {
    const reply = await plain.post(asked(question), { path });
    expect(reply.status).toBe(404);
    expect(await reply.json()).toEqual({
      error: { message: `Unknown request URL: POST ${path}.`, type: 'invalid_request_error' },
    });
  }
  await plain.close();
});
