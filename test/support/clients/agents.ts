import { Agent, OpenAIProvider, type RunItem, Runner, tool } from '@openai/agents';
import OpenAI from 'openai';
import {
  type Client,
  type Connect,
  leaveWithin,
  rolledText,
  rollSchema,
  type ShownUsage,
  type Wish,
} from './client.ts';

/** The OpenAI Agents SDK on chat completions. */
export const agentsChat: Connect = ({ url, key, retries }) => {
  const openAIClient = new OpenAI({ apiKey: key, baseURL: url, maxRetries: retries });
  return agentsClient(new OpenAIProvider({ openAIClient, useResponses: false }));
};

/** Agents over some provider's models. Nothing is traced, which would send every run to OpenAI. */
export function agentsClient(modelProvider: OpenAIProvider): Client {
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

  return {
    async reply(question, wish) {
      const { finalOutput = '', newItems, rawResponses } = await runner.run(agentFor(wish), question);
      return { text: finalOutput, reasoning: reasoningOf(newItems), usage: usageOf(rawResponses) };
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
        reasoning: reasoningOf(run.newItems),
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
      if (!streamed) return { answer: (await runner.run(agent, question)).finalOutput ?? '', calls };
      const run = await runner.run(agent, question, { stream: true });
      await run.completed;
      return { answer: run.finalOutput ?? '', calls };
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
function reasoningOf(items: readonly RunItem[]): string | undefined {
  const texts = items.flatMap(({ rawItem }) =>
    rawItem?.type === 'reasoning' ? (rawItem.rawContent ?? []).map(({ text }) => text) : [],
  );
  return texts.length > 0 ? texts.join('') : undefined;
}

/** Running usage as it is on the wire: the SDK itself shows usage at the end only. */
function tokensIn(data: { type: string; event?: unknown }): number | undefined {
  if (data.type !== 'model') return undefined;
  return (data.event as { usage?: { completion_tokens?: number } }).usage?.completion_tokens;
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
