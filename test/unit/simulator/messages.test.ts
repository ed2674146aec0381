import Anthropic from '@anthropic-ai/sdk';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Simulator } from '../../../src/simulator/server.ts';
import { closeAll, simulate } from './client.ts';

afterEach(closeAll);

type Params = Omit<Anthropic.MessageCreateParamsNonStreaming, 'stream'>;

const clientOf = ({ url }: Simulator): Anthropic =>
  new Anthropic({ apiKey: 'key', baseURL: url.replace(/\/v1$/, ''), maxRetries: 0 });
const tools: Params['tools'] = [
  { name: 'bash', input_schema: { type: 'object', properties: { command: { type: 'string' } } } },
];
const asking = (content: string | Anthropic.ContentBlockParam[], more: Partial<Params> = {}): Params => ({
  model: 'm',
  max_tokens: 4000,
  messages: [{ role: 'user', content }],
  ...more,
});
const thinking = { type: 'enabled', budget_tokens: 1024 } as const;
const bothWays = [
  ['whole', (client: Anthropic, params: Params) => client.messages.create({ ...params, stream: false })],
  ['streamed', (client: Anthropic, params: Params) => client.messages.stream(params).finalMessage()],
] as const;

describe.each(bothWays)('a message of the simulator, %s', (_, send) => {
  it('has thinking with its signature, text, and the figures of a cache', async () => {
    const client = clientOf(await simulate({ cached_tokens: 0.5, cache_creation: 0.25 }));
    const { content, stop_reason, usage } = await send(client, asking('Hello', { thinking }));
    expect(content.map(({ type }) => type)).toEqual(['thinking', 'text']);
    expect(content[0]).toMatchObject({ signature: expect.stringMatching(/^\S{20,}$/) });
    expect(stop_reason).toBe('end_turn');
    const { input_tokens } = await client.messages.countTokens({
      model: 'm',
      messages: [{ role: 'user', content: 'Hello' }],
    });
    const { cache_read_input_tokens: read, cache_creation_input_tokens: created } = usage;
    expect([read, created]).toEqual([Math.floor(input_tokens / 2), Math.floor(input_tokens / 4)]);
    expect(usage.input_tokens + read! + created!).toBe(input_tokens);
  });

  it('goes through the steps of a tool loop that demands its signatures, and ends it', async () => {
    const client = clientOf(await simulate({ require_signatures: 'demanded' }));
    const steps = ['ls', 'pwd'].map(command => `[[sim:step tool=bash args={"command":"${command}"}]]`);
    const params = asking(`Look. ${steps.join(' ')}`, { thinking, tools });
    for (const command of ['ls', 'pwd']) {
      const { content, stop_reason } = await send(client, params);
      const call = content.find(block => block.type === 'tool_use')!;
      expect([call.input, stop_reason]).toEqual([{ command }, 'tool_use']);
      const result = { type: 'tool_result', tool_use_id: call.id, content: 'done' } as const;
      params.messages.push({ role: 'assistant', content }, { role: 'user', content: [result] });
    }
    const { content, stop_reason } = await send(client, params);
    expect([content.at(-1)?.type, stop_reason]).toEqual(['text', 'end_turn']);
  });

  it('names the stop sequence and the cap at which it ended', async () => {
    const client = clientOf(await simulate());
    const stopped = await send(client, asking('[[sim:say=One END two]]', { stop_sequences: ['END'] }));
    expect(stopped).toMatchObject({
      content: [{ type: 'text', text: 'One ' }],
      stop_reason: 'stop_sequence',
      stop_sequence: 'END',
    });
    const cut = await send(client, asking('[[sim:say=One two three]]', { max_tokens: 2 }));
    expect(cut).toMatchObject({ content: [{ text: 'One two' }], stop_reason: 'max_tokens' });
  });

  it('lists images, and is refused for them on a model that takes none', async () => {
    const simulator = await simulate();
    const client = clientOf(simulator);
    const data = Buffer.from('a picture').toString('base64');
    const params = asking([
      { type: 'text', text: '[[sim:images]]' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data } },
      { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
    ]);
    const { content } = await send(client, params);
    expect(content).toMatchObject([
      { text: JSON.stringify({ images: ['image/png 9 bytes', 'https://example.com/a.png'] }) },
    ]);
    simulator.configure({ images: 'refused' });
    await expect(send(client, params)).rejects.toMatchObject({ status: 400 });
  });

  it('is refused when thinking comes back changed, or not at all where it is demanded', async () => {
    const client = clientOf(await simulate());
    const question = 'Look. [[sim:tool require_signatures]]';
    const { content } = await send(client, asking(question, { thinking, tools }));
    const call = content.find(block => block.type === 'tool_use')!;
    const result = { type: 'tool_result', tool_use_id: call.id, content: 'done' } as const;
    const returned = (blocks: Anthropic.ContentBlockParam[]) =>
      send(client, {
        ...asking(question, { thinking, tools }),
        messages: [
          { role: 'user', content: question },
          { role: 'assistant', content: blocks },
          { role: 'user', content: [result] },
        ],
      });
    const changed = content.map(block => (block.type === 'thinking' ? { ...block, thinking: 'Hm.' } : block));
    await expect(returned(changed)).rejects.toThrow('Invalid `signature` in `thinking` block');
    await expect(returned([call])).rejects.toThrow('Expected `thinking` or `redacted_thinking`');
    expect(await returned(content)).toMatchObject({ stop_reason: 'end_turn' });
  });

  it.each([
    [{ max_tokens: undefined }, 'max_tokens: Field required'],
    [{ messages: [] }, 'messages: at least one message is required'],
    [{ colour: 'red' }, 'colour: Extra inputs are not permitted'],
    [
      { messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }] }] },
      'unexpected `tool_use_id`',
    ],
    [
      { messages: [{ role: 'user', content: [{ type: 'text', text: ' ' }] }] },
      'messages.0.content.0.text: text content blocks must contain non-whitespace text',
    ],
    [{ thinking, temperature: 0 }, '`temperature` may only be set to 1'],
  ])('is refused in the words of the API for %j', async (more, message) => {
    const client = clientOf(await simulate());
    const refused = send(client, asking('Hello', more as Partial<Params>));
    await expect(refused).rejects.toMatchObject({
      status: 400,
      error: { type: 'error', error: { type: 'invalid_request_error' } },
      message: expect.stringContaining(message),
    });
  });

  it('has failures in the form of the API', async () => {
    const client = clientOf(await simulate());
    const overloaded = { error: { error: { type: 'overloaded_error' } } };
    await expect(send(client, asking('[[sim:status=529]]'))).rejects.toMatchObject({
      status: 529,
      ...overloaded,
    });
    await expect(send(client, asking('Hello [[sim:error=5 status=529]]'))).rejects.toMatchObject(overloaded);
  });
});

describe('a stream of messages', () => {
  it('begins with its id and a ping, and ends with message_stop and nothing after it', async () => {
    const simulator = await simulate({ api_key: 'key' });
    const headers = { 'x-api-key': 'key', 'anthropic-version': '2023-06-01' };
    const body = JSON.stringify(asking('[[sim:say=Hi]]', { stream: true } as object));
    const text = await (await fetch(`${simulator.url}/messages`, { method: 'POST', headers, body })).text();
    expect(text.match(/^event: .*$/gm)).toEqual(
      [
        'message_start',
        'ping',
        'content_block_start',
        'content_block_delta',
        'content_block_stop',
        'message_delta',
        'message_stop',
      ].map(name => `event: ${name}`),
    );
    expect(text).toContain('data: {"type":"message_start","message":{"id":"msg_');
    expect(text.endsWith('data: {"type":"message_stop"}\n\n')).toBe(true);
    const unknown = await fetch(`${simulator.url}/messages`, { method: 'POST', body });
    expect([unknown.status, await unknown.json()]).toEqual([
      401,
      { type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' } },
    ]);
  });
});
