import { expect } from '@jest/globals';
import { type Completion, usageOf } from '../../src/canonical.ts';
import type { Outcome } from '../../src/plugin.ts';
import { ledgerOf } from '../fixtures/stages/ledger.ts';
import { messageBySdk } from '../unit/src/dialects/sdk-readers.ts';
import { type GatewayUnderTest, startGateway } from './gateway-under-test.ts';
import { assembledReply, type ProviderFixture, type ProviderName } from './provider-fixtures.ts';
import { type ScriptedUpstream, startScriptedUpstream, streamed, whole } from './scripted-upstream.ts';
import { ownStages } from './settlement.ts';
import { until } from './until.ts';

/** A gateway in front of a scripted server that speaks one provider's format. */
export interface ProviderSetting {
  readonly upstream: ScriptedUpstream;
  readonly gateway: GatewayUnderTest;
  /** The record of the newest exchange, once there are `count`. */
  settled(count: number): Promise<Outcome>;
  close(): Promise<void>;
}

let opened = 0;

export async function providerSetting(adapter: ProviderName, options: object = {}): Promise<ProviderSetting> {
  const book = `provider-${adapter}-${++opened}`;
  const upstream = await startScriptedUpstream();
  const gateway = await startGateway({
    upstream,
    adapter,
    provider: { ...options },
    stages: ownStages(['ledger', { book }]),
    config: { messages: { enabled: true } },
  });
  const entries = ledgerOf(book);
  return {
    upstream,
    gateway,
    async settled(count) {
      await until(() => entries.length >= count);
      expect(entries).toHaveLength(count);
      return entries.at(-1)!.outcome;
    },
    async close() {
      await gateway.close();
      await upstream.close();
    },
  };
}

/** What the server writes to say this. */
export const written = ({ stream, reply }: ProviderFixture, isStreamed: boolean): Buffer =>
  isStreamed ? streamed(stream) : whole(200, reply!);

/** A way to ask through one of the public formats, and what came back in the canonical form. */
export interface Dialogue {
  readonly name: string;
  /** One user message, the calls it led to, and what they gave; the last two where there are any. */
  ask(setting: ProviderSetting, turn: Turn, isStreamed: boolean): Promise<Completion>;
}

export interface Turn {
  readonly words: string;
  readonly called?: Completion;
  readonly results?: readonly string[];
  readonly more?: object;
}

const model = 'aion-labs/aion-3.5';
const parameters = { type: 'object', properties: { sides: { type: 'integer' } }, required: ['sides'] };
const roll = { name: 'roll', description: 'Rolls a die.', parameters };

/** `POST /v1/chat/completions`. */
export const chat: Dialogue = {
  name: 'chat completions',
  async ask({ gateway }, { words, called, results = [], more }, isStreamed) {
    const message = called?.choices[0]?.message;
    const messages = [
      { role: 'user', content: words },
      ...(message ? [{ role: 'assistant', content: message.content, tool_calls: message.tool_calls }] : []),
      ...results.map((content, at) => ({
        role: 'tool',
        tool_call_id: message!.tool_calls![at]!.id,
        content,
      })),
    ];
    const body = { model, messages, tools: [{ type: 'function', function: roll }], ...more };
    if (!isStreamed) {
      const reply = await gateway.post(body);
      expect(reply.status).toBe(200);
      const { choices, usage } = (await reply.json()) as Completion;
      return { choices, usage: usage! };
    }
    const { status, events } = await gateway.stream(body);
    expect(status).toBe(200);
    expect(events.at(-1)?.data).toBe('[DONE]');
    const chunks = events.slice(0, -1).map(({ json }) => ({
      choices: [...json.choices!],
      ...(json.usage && { usage: json.usage }),
    }));
    return assembledReply(chunks);
  },
};

interface MessageReply {
  readonly content: readonly {
    readonly type: string;
    readonly id: string;
    readonly name: string;
    readonly input: object;
    readonly text: string;
    readonly thinking: string;
  }[];
  readonly stop_reason: string;
  readonly usage: Readonly<Record<string, number>> & {
    readonly output_tokens_details?: { readonly thinking_tokens: number };
  };
}

/** `POST /v1/messages`. */
export const messages: Dialogue = {
  name: 'messages',
  async ask({ gateway }, { words, called, results = [], more }, isStreamed) {
    const { content, tool_calls: calls = [] } = called?.choices[0]?.message ?? {};
    const turns = [
      { role: 'user', content: words },
      ...(called
        ? [
            {
              role: 'assistant',
              content: [
                ...(content ? [{ type: 'text', text: content }] : []),
                ...calls.map(({ id, function: { name, arguments: text } }) => ({
                  type: 'tool_use',
                  id,
                  name,
                  input: JSON.parse(text),
                })),
              ],
            },
            {
              role: 'user',
              content: results.map((content, at) => ({
                type: 'tool_result',
                tool_use_id: calls[at]!.id,
                content,
              })),
            },
          ]
        : []),
    ];
    const tool = { name: roll.name, description: roll.description, input_schema: parameters };
    const body = { model, max_tokens: 32_768, messages: turns, tools: [tool], ...more };
    const path = '/v1/messages';
    if (!isStreamed) {
      const reply = await gateway.post(body, { path });
      expect(reply.status).toBe(200);
      return completionOfMessage((await reply.json()) as MessageReply);
    }
    const { status, text } = await gateway.stream(body, { path });
    expect(status).toBe(200);
    return completionOfMessage((await messageBySdk(text)) as unknown as MessageReply);
  },
};

/** A message as the reply that it stands for, with the usage that it shows. */
function completionOfMessage({ content, stop_reason, usage }: MessageReply): Completion {
  const of = (type: string) => content.filter(block => block.type === type);
  const said = of('text')
    .map(({ text }) => text)
    .join('');
  const reasoning = of('thinking')
    .map(({ thinking }) => thinking)
    .join('');
  const tool_calls = of('tool_use').map(({ id, name, input }) => ({
    id,
    type: 'function' as const,
    function: { name, arguments: JSON.stringify(input) },
  }));
  const { input_tokens = 0, output_tokens = 0, cache_read_input_tokens = 0 } = usage;
  const prompt = input_tokens + cache_read_input_tokens + (usage.cache_creation_input_tokens ?? 0);
  const thinking = usage.output_tokens_details?.thinking_tokens;
  return {
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: said === '' && tool_calls.length > 0 ? null : said,
          ...(reasoning !== '' && { reasoning }),
          ...(tool_calls.length > 0 && { tool_calls }),
        },
        finish_reason:
          stop_reason === 'tool_use' ? 'tool_calls' : stop_reason === 'max_tokens' ? 'length' : 'stop',
      },
    ],
    usage: usageOf(
      prompt,
      output_tokens,
      cache_read_input_tokens,
      thinking === undefined ? undefined : { reasoning_tokens: thinking },
    ),
  };
}

interface OutputItem {
  readonly type: string;
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
  readonly content: readonly { readonly type: string; readonly text: string }[];
  /** Of a reasoning item. */
  readonly summary?: readonly { readonly text: string }[];
}

interface ResponseObject {
  readonly status: string;
  readonly output: readonly OutputItem[];
  readonly usage: {
    readonly input_tokens: number;
    readonly output_tokens: number;
    readonly total_tokens: number;
    readonly input_tokens_details: { readonly cached_tokens: number };
    readonly output_tokens_details: { readonly reasoning_tokens: number };
  };
}

/** `POST /v1/responses`. */
export const responses: Dialogue = {
  name: 'responses',
  async ask({ gateway }, { words, called, results = [], more }, isStreamed) {
    const calls = called?.choices[0]?.message.tool_calls ?? [];
    const input = [
      { role: 'user', content: words },
      ...calls.map(({ id, function: { name, arguments: text } }) => ({
        type: 'function_call',
        call_id: id,
        name,
        arguments: text,
      })),
      ...results.map((output, at) => ({ type: 'function_call_output', call_id: calls[at]!.id, output })),
    ];
    const body = { model, input, tools: [{ type: 'function', ...roll }], ...more };
    const path = '/v1/responses';
    if (!isStreamed) {
      const reply = await gateway.post(body, { path });
      expect(reply.status).toBe(200);
      return completionOf((await reply.json()) as ResponseObject);
    }
    const { status, events } = await gateway.stream(body, { path });
    expect(status).toBe(200);
    const last = events.findLast(({ event }) => /^response\.(completed|incomplete)$/.test(event ?? ''));
    return completionOf(last?.json.response as ResponseObject);
  },
};

/** A response object as the reply that it stands for, with the usage that it shows. */
function completionOf({ status, output, usage }: ResponseObject): Completion {
  const parts = output.filter(({ type }) => type === 'message').flatMap(({ content }) => content);
  const text = (type: string) =>
    parts
      .filter(part => part.type === type)
      .map(part => part.text)
      .join('');
  const calls = output.filter(({ type }) => type === 'function_call');
  const content = text('output_text');
  const reasoning =
    text('reasoning') ||
    output
      .filter(({ type }) => type === 'reasoning')
      .flatMap(item => item.summary ?? item.content)
      .map(part => part.text)
      .join('');
  const tool_calls = calls.map(({ call_id, name, arguments: given }) => ({
    id: call_id,
    type: 'function' as const,
    function: { name, arguments: given },
  }));
  return {
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: content === '' && calls.length > 0 ? null : content,
          ...(reasoning !== '' && { reasoning }),
          ...(calls.length > 0 && { tool_calls }),
        },
        finish_reason: status === 'incomplete' ? 'length' : calls.length > 0 ? 'tool_calls' : 'stop',
      },
    ],
    usage: {
      prompt_tokens: usage.input_tokens,
      completion_tokens: usage.output_tokens,
      total_tokens: usage.total_tokens,
      prompt_tokens_details: usage.input_tokens_details,
      completion_tokens_details: usage.output_tokens_details,
    },
  };
}
