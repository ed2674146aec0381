import { existsSync, readFileSync } from 'node:fs';
import { Registry } from 'prom-client';
import { builtInProviders } from '../../plugins/providers.ts';
import { systemClock } from '../../src/common/clock.ts';
import type {
  Choice,
  Chunk,
  Completion,
  ReplyMessage,
  ToolCall,
  Usage,
} from '../../src/gateway/exchange/canonical.ts';
import type { Adapter } from '../../src/gateway/upstream/adapter.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { pluginMetrics } from '../../src/telemetry/metric-factory.ts';

/** One reply in a server's own format, and what it is in the canonical form. */
export interface ProviderFixture {
  readonly name: string;
  readonly choices: readonly Choice[];
  readonly usage: Usage;
  /** The completion tokens of every chunk that has usage, where the server tells them as it goes. */
  readonly running?: readonly number[];
  readonly stream: string;
  /** The same reply whole, where the server can send it so. */
  readonly reply: Record<string, unknown> | undefined;
}

/** An error reply, and what a client is shown: status, type, and the message if it is passed on. */
export interface ErrorFixture {
  readonly what: string;
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: object;
  readonly shown: readonly [status: number, type: string, message?: string];
  readonly retry_after?: string;
}

export const providerNames = ['openai', 'vllm', 'sglang', 'llama-cpp', 'openrouter', 'anthropic'] as const;
export type ProviderName = (typeof providerNames)[number];

const fileOf = (provider: ProviderName, name: string) =>
  new URL(`../fixtures/providers/${provider}/${name}`, import.meta.url);

const jsonOf = (provider: ProviderName, name: string): unknown =>
  JSON.parse(readFileSync(fileOf(provider, `${name}.json`), 'utf8'));

/** A stream as the server sends it. */
export const streamOf = (provider: ProviderName, name: string): string =>
  readFileSync(fileOf(provider, `${name}.sse`), 'utf8');

/** All replies of a provider. */
export function fixturesOf(provider: ProviderName): ProviderFixture[] {
  const expected = jsonOf(provider, 'expected') as Omit<ProviderFixture, 'stream' | 'reply'>[];
  return expected.map(fixture => ({
    ...fixture,
    stream: streamOf(provider, fixture.name),
    reply: existsSync(fileOf(provider, `${fixture.name}.json`))
      ? (jsonOf(provider, fixture.name) as Record<string, unknown>)
      : undefined,
  }));
}

export function fixtureOf(provider: ProviderName, name: string): ProviderFixture {
  const found = fixturesOf(provider).find(fixture => fixture.name === name);
  if (!found) throw new Error(`${provider} has no fixture ${name}`);
  return found;
}

export const errorsOf = (provider: ProviderName): ErrorFixture[] =>
  jsonOf(provider, 'errors') as ErrorFixture[];

/** A new adapter with these options. */
export function adapterOf(provider: ProviderName, options: object = {}): Adapter {
  const definition = builtInProviders.find(({ name }) => name === provider)!;
  return definition.create(definition.schema.parse(options), {
    provider: 'fixture',
    log: createLog('silent'),
    clock: systemClock,
    metrics: pluginMetrics(new Registry(), definition.name),
  });
}

/** What a client has put together when it has read all chunks. */
export function assembledReply(chunks: readonly Chunk[]): Completion {
  const choices = new Map<number, Choice>();
  let usage: Usage | undefined;
  for (const chunk of chunks) {
    usage = chunk.usage ?? usage;
    for (const { index, delta, finish_reason } of chunk.choices) {
      const message: ReplyMessage = { role: 'assistant', content: '' };
      const choice = choices.get(index) ?? { index, message, finish_reason: undefined! };
      choices.set(index, choice);
      add(choice.message, delta);
      if (finish_reason) choice.finish_reason = finish_reason;
    }
  }
  for (const { message } of choices.values())
    if (message.tool_calls && !message.content) message.content = null;
  return { choices: [...choices.values()].sort((a, b) => a.index - b.index), ...(usage && { usage }) };
}

function add(
  message: ReplyMessage,
  { content, reasoning, refusal, tool_calls }: Chunk['choices'][number]['delta'],
): void {
  if (content) message.content += content;
  if (reasoning) message.reasoning = (message.reasoning ?? '') + reasoning;
  if (refusal) message.refusal = (message.refusal ?? '') + refusal;
  for (const { index, id, function: called } of tool_calls ?? []) {
    const calls = (message.tool_calls ??= []);
    const call: ToolCall = (calls[index] ??= {
      id: id ?? '',
      type: 'function',
      function: { name: '', arguments: '' },
    });
    call.function.name += called?.name ?? '';
    call.function.arguments += called?.arguments ?? '';
  }
}
