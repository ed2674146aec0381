import { expect } from '@jest/globals';
import type { Completion } from '../../src/gateway/exchange/canonical.ts';
import type { Outcome } from '../../src/plugin.ts';
import { ledgerOf, newBook } from '../fixtures/stages/ledger.ts';
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

export async function providerSetting(adapter: ProviderName, options: object = {}): Promise<ProviderSetting> {
  const book = newBook();
  const upstream = await startScriptedUpstream();
  const gateway = await startGateway({
    upstream,
    adapter,
    provider: { ...options },
    stages: ownStages(['ledger', { book }]),
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

/** One user message, the calls it led to, and what they gave; the last two where there are any. */
export interface Turn {
  readonly words: string;
  readonly called?: Completion;
  readonly results?: readonly string[];
}

const model = 'aion-labs/aion-3.5';
const parameters = { type: 'object', properties: { sides: { type: 'integer' } }, required: ['sides'] };
const roll = { name: 'roll', description: 'Rolls a die.', parameters };

/** Asks for a chat completion that may call a tool. */
export async function askChat(
  { gateway }: ProviderSetting,
  { words, called, results = [] }: Turn,
  isStreamed: boolean,
): Promise<Completion> {
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
  const body = { model, messages, tools: [{ type: 'function', function: roll }] };
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
}
