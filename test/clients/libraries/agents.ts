import { Agent, type AgentInputItem, OpenAIProvider, type RunItem, Runner, tool } from '@openai/agents';
import OpenAI from 'openai';
import {
  type Client,
  type Connect,
  type Connection,
  leaveWithin,
  rolledText,
  rollSchema,
  type ShownUsage,
  type Wish,
} from './client.ts';

/** The OpenAI Agents SDK on chat completions. */
export const agentsChat: Connect = connection =>
  agentsClient(connection, false, ({ rawContent }) => rawContent);

/** The OpenAI Agents SDK on responses, with reasoning as the summary of its item. */
export const agentsResponses: Connect = connection =>
  agentsClient(connection, true, ({ content }) => content);

/** The same with reasoning as the content of its item. */
export const agentsItems: Connect = connection =>
  agentsClient(connection, true, ({ providerData }) => providerData?.content);

type ReasoningItem = Extract<RunItem['rawItem'], { type: 'reasoning' }>;
type Texts = readonly { readonly text: string }[];
type TextsOf = (item: ReasoningItem) => Texts | undefined;

/** Nothing is traced, which would send every run to OpenAI. */
function agentsClient({ url, key, retries }: Connection, useResponses: boolean, textsOf: TextsOf): Client {
  const openAIClient = new OpenAI({ apiKey: key, baseURL: url, maxRetries: retries });
  const modelProvider = new OpenAIProvider({ openAIClient, useResponses });
  const runner = new Runner({ tracingDisabled: true, modelProvider });
  const agentFor = ({ model = 'aion-labs/aion-3.5', max_tokens, continuous }: Wish = {}) => {
    const stream_options = { include_usage: true, continuous_usage_stats: true };
    return new Agent({
      name: 'Tester',
      model,
      modelSettings: {
        ...(max_tokens && { maxTokens: max_tokens }),
        ...(continuous && { providerData: { stream_options } }),
      },
    });
  };

  /** A run that is over. */
  const ended = async (agent: Agent, input: string | AgentInputItem[], streamed: boolean) => {
    if (!streamed) return runner.run(agent, input);
    const run = await runner.run(agent, input, { stream: true });
    await run.completed;
    return run;
  };

  return {
    async reply(question, wish) {
      const { finalOutput = '', newItems, rawResponses } = await runner.run(agentFor(wish), question);
      return { text: finalOutput, reasoning: reasoningOf(newItems, textsOf), usage: usageOf(rawResponses) };
    },

    async stream(question, wish) {
      const run = await runner.run(agentFor(wish), question, { stream: true });
      const pieces: string[] = [];
      for await (const event of run)
        if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta')
          pieces.push(event.data.delta);
      await run.completed;
      return {
        text: pieces.join(''),
        final: run.finalOutput ?? '',
        pieces: pieces.length,
        reasoning: reasoningOf(run.newItems, textsOf),
        usage: usageOf(run.rawResponses),
      };
    },

    async roll(question, streamed) {
      const calls: unknown[] = [];
      const roll = tool({
        name: 'roll',
        description: 'Rolls the dice.',
        parameters: rollSchema,
        execute: async wanted => {
          calls.push(wanted);
          return rolledText;
        },
      });
      const agent = agentFor().clone({ tools: [roll] });
      return { answer: (await ended(agent, question, streamed)).finalOutput ?? '', calls };
    },

    async goOn(first, second, streamed) {
      const { history } = await ended(agentFor(), first, streamed);
      const next = [...history, { role: 'user' as const, content: second }];
      return (await ended(agentFor(), next, streamed)).finalOutput ?? '';
    },

    async leave(question) {
      const controller = new AbortController();
      const agent = agentFor({ continuous: true });
      const run = await runner.run(agent, question, { stream: true, signal: controller.signal });
      const shown = await leaveWithin(
        run,
        () => controller.abort(),
        event => (event.type === 'raw_model_stream_event' ? tokensIn(event.data) : undefined),
      );
      await run.completed;
      return shown;
    },
  };
}

/** The text of the reasoning items. */
function reasoningOf(items: readonly RunItem[], textsOf: TextsOf): string | undefined {
  const texts = items.flatMap(({ rawItem }) =>
    rawItem?.type === 'reasoning' ? (textsOf(rawItem) ?? []) : [],
  );
  return texts.length > 0 ? texts.map(({ text }) => text).join('') : undefined;
}

/** Running usage as it is on the wire: the SDK itself shows usage at the end only. */
function tokensIn(data: { type: string; event?: unknown }): number | undefined {
  if (data.type !== 'model') return undefined;
  const { usage } = data.event as { usage?: { completion_tokens?: number; output_tokens?: number } };
  return usage?.completion_tokens ?? usage?.output_tokens;
}

type Usages = Awaited<ReturnType<Runner['run']>>['rawResponses'];

function usageOf([response]: Usages): ShownUsage {
  const usage = response?.usage;
  return {
    input: usage?.inputTokens,
    output: usage?.outputTokens,
    total: usage?.totalTokens,
    cached: usage?.inputTokensDetails[0]?.cached_tokens,
    reasoning: usage?.outputTokensDetails[0]?.reasoning_tokens,
  };
}
