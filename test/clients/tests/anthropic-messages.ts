import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'expect';
import { startSimulator } from '../../../src/simulator/server.ts';
import { clientKey } from '../../support/gateway-under-test.ts';
import { until } from '../../support/until.ts';
import { gateway, gatewayWith, asked as sent, simulator, untilTheEnd } from '../place.ts';
import { triedOf } from '../tried.ts';

const model = 'aion-labs/aion-3.5';
const question = 'Why do rivers bend?';
type Params = Anthropic.MessageCreateParamsNonStreaming;
type Content = Anthropic.MessageParam['content'];

const clientOf = (url: string) =>
  new Anthropic({ apiKey: clientKey, authToken: null, baseURL: url, maxRetries: 0 });
const anthropic = clientOf(gateway.url);
const asked = (content: Content, more: object = {}) =>
  ({ model, max_tokens: 4000, messages: [{ role: 'user', content }], ...more }) as Params;
const tools = [
  {
    name: 'roll',
    description: 'Rolls a die.',
    input_schema: { type: 'object' as const, properties: { sides: { type: 'integer' } } },
  },
];
/** Both ways to have a message. */
const ways = {
  whole: (params: Params, client = anthropic) => client.messages.create(params),
  streamed: (params: Params, client = anthropic) => client.messages.stream(params).finalMessage(),
};
const bothWays = (title: string, test: (way: keyof typeof ways) => Promise<unknown>) =>
  Object.fromEntries(
    (['whole', 'streamed'] as const).map(way => [`${title} (${way})`, () => test(way)] as const),
  );

const textOf = ({ content }: Anthropic.Message) =>
  content.map(block => (block.type === 'text' ? block.text : '')).join('');
const usesIn = (content: Anthropic.ContentBlock[]) => content.filter(block => block.type === 'tool_use');
/** The turn with the results of its calls. */
const answered = (content: Anthropic.ContentBlock[]): Anthropic.MessageParam[] => [
  { role: 'assistant', content },
  {
    role: 'user',
    content: usesIn(content).map(({ id }, at) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: `It shows ${at}`,
    })),
  },
];

/** Metrics of the gateway, which settles after its client has the reply. */
const counted = (labels: Record<string, string>, name = 'sluice_requests_total') =>
  gateway.metric(name, labels);
async function expectCounted(labels: Record<string, string>, run: () => Promise<unknown>): Promise<void> {
  const [all, before] = [await counted({}), await counted(labels)];
  await run();
  await until(async () => (await counted({})) > all);
  expect([await counted({}), await counted(labels)]).toEqual([all + 1, before + 1]);
}

triedOf('whole replies', 'anthropicMessages', {
  'take the key in either header, here only': async () => {
    const { url: baseURL } = gateway;
    const bearer = new Anthropic({ apiKey: null, authToken: clientKey, baseURL, maxRetries: 0 });
    expect(textOf(await bearer.messages.create(asked(question)))).not.toBe('');
    const headers = { authorization: `Api-Key ${clientKey}` };
    const path = '/v1/messages?beta=true';
    expect((await gateway.post(asked(question), { path, headers })).status).toBe(200);
    const bare = { authorization: '', 'x-api-key': clientKey };
    expect((await gateway.post({ model, messages: [] }, { headers: bare })).status).toBe(401);
  },
  'name the header of its clients when the key is missing': async () => {
    const reply = await fetch(`${gateway.url}/v1/messages`, { method: 'POST', body: '{}' });
    expect(reply.status).toBe(401);
    expect(reply.headers.get('request-id')).toBe(reply.headers.get('x-request-id'));
    const message = "Missing API key. Send 'x-api-key: <API_KEY>' or 'Authorization: Bearer <API_KEY>'.";
    expect(await reply.json()).toEqual({ type: 'error', error: { type: 'authentication_error', message } });
  },
  'are not offered unless they are enabled': async () => {
    const plain = await gatewayWith({ config: { messages: { enabled: false } } });
    for (const path of ['/v1/messages', '/v1/messages/count_tokens']) {
      const reply = await plain.post(asked(question), { path });
      expect(reply.status).toBe(404);
      expect(await reply.json()).toEqual({
        error: { message: `Unknown request URL: POST ${path}.`, type: 'invalid_request_error' },
      });
    }
  },
});

triedOf('streams', 'anthropicMessages', {
  'send pings while the upstream is silent': async () => {
    const slow = await gatewayWith({ server: { stream_commit_ms: 50, keepalive_ms: 50 } });
    const { text, events } = await slow.stream(asked('[[sim:ttft=400 say=Yes]]'), { path: '/v1/messages' });
    expect(text).toMatch(/^event: ping\ndata: \{"type":"ping"\}\n\n/);
    expect(events.findIndex(({ event }) => event === 'message_start')).toBeGreaterThan(1);
  },
});

triedOf('calls', 'anthropicMessages', {
  'run in its tool runner, which sends whole conversations after the first refusal': async () => {
    const requests = simulator.requests.length;
    const roll = {
      type: 'custom' as const,
      name: 'roll',
      input_schema: { type: 'object' as const, properties: {} },
      parse: (input: unknown) => input,
      run: async () => 'It shows 6',
    };
    const runner = anthropic.beta.messages.toolRunner({
      ...asked('Roll. [[sim:tool]]'),
      tools: [roll],
    } as never);
    expect(textOf((await runner) as never)).toContain('It shows 6');
    expect(simulator.requests).toHaveLength(requests + 2);
    expect(sent().messages).toMatchObject([{ role: 'user' }, { role: 'assistant' }, { role: 'tool' }]);
  },
});

triedOf('count_tokens', 'anthropicMessages', {
  'has the tokens of a prompt, without asking the upstream or billing any': async () => {
    const before = simulator.requests.length;
    const billed = await counted({}, 'sluice_tokens_total');
    const messages = [{ role: 'user' as const, content: question }];
    const short = await anthropic.messages.countTokens({ model, messages });
    const own = { endpoint: 'messages.count-tokens', end_reason: 'completed', status: '200', model };
    await expectCounted(own, async () => {
      const long = await anthropic.messages.countTokens({ model, system: 'Be brief. '.repeat(20), messages });
      expect(short.input_tokens).toBeGreaterThan(5);
      expect(long.input_tokens).toBeGreaterThan(short.input_tokens + 20);
    });
    expect(simulator.requests).toHaveLength(before);
    expect(await counted({}, 'sluice_tokens_total')).toBe(billed);
  },
  'needs a key and a valid body': async () => {
    const count = (body: object, key = clientKey) =>
      gateway.post(body, { path: '/v1/messages/count_tokens', headers: { authorization: `Bearer ${key}` } });
    expect((await count(asked(question), 'sk-unknown')).status).toBe(401);
    const invalid = await count(asked([{ type: 'audio' }] as never));
    expect(invalid.status).toBe(400);
    const message = expect.stringMatching(/^messages\[0\]\.content\[0\]\.type: /);
    const error = { type: 'invalid_request_error', message };
    expect(await invalid.json()).toMatchObject({ type: 'error', error });
    expect((await count(asked(question, { model: 'nobody/knows' }))).status).toBe(400);
  },
});

// Nothing is remembered here, so that what comes back is what the client has.
const provider = { remember_characters: 0 };
const server = untilTheEnd(await startSimulator({ cached_tokens: 0.5, cache_creation: 0.25 }));
const direct = { upstream: server.url, adapter: 'anthropic' as const, provider };
const before = clientOf((await gatewayWith(direct)).url);
const last = () => server.requests.at(-1)?.body as { messages: Anthropic.MessageParam[] };

triedOf('in front of Anthropic', 'anthropicMessages', {
  ...bothWays('signatures come back in a loop of tools that demands them', async way => {
    const steps = [6, 20].map(
      sides => `[[sim:step require_signatures=demanded tool=roll args={"sides":${sides}}]]`,
    );
    const rest = '[[sim:step require_signatures=demanded]]';
    const thinking = { type: 'enabled', budget_tokens: 1024 };
    const params = asked(`Roll. ${[...steps, rest].join(' ')}`, { tools, thinking });
    for (const sides of [6, 20]) {
      const { content, stop_reason } = await ways[way](params, before);
      expect(stop_reason).toBe('tool_use');
      expect(content[0]).toMatchObject({ type: 'thinking', signature: expect.stringMatching(/./) });
      expect(usesIn(content).map(({ input }) => input)).toEqual([{ sides }]);
      params.messages.push(...answered(content));
    }
    const { content, stop_reason } = await ways[way](params, before);
    expect({ stop_reason, type: content.at(-1)?.type }).toEqual({ stop_reason: 'end_turn', type: 'text' });
    for (const at of [1, 3]) expect(last().messages[at]).toEqual(params.messages[at]);
  }),
});
