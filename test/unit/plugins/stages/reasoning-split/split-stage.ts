import { reasoningSplit } from '../../../../../plugins/stages/reasoning-split/index.ts';
import type { Model } from '../../../../../src/gateway/catalog/catalog.ts';
import type {
  ChatRequest,
  Choice,
  Chunk,
  Completion,
  Delta,
  ReplyMessage,
} from '../../../../../src/gateway/exchange/canonical.ts';
import { choicesOf, chunkOf, collected, streamOf, transformed } from '../../../chunk-stream.ts';
import { sampleExchange } from '../../../sample-exchange.ts';
import { sampleSetup } from '../../../sample-setup.ts';

/** What the stage's work depends on. */
export interface Asked {
  readonly request?: Partial<ChatRequest>;
  readonly model?: Partial<Model>;
  readonly trim?: boolean;
}

/** The stage on one exchange: what it makes of a whole reply, and of a stream. */
export function stageOf({ request = {}, model = {}, trim = true }: Asked) {
  const stage = reasoningSplit({ trim }).plan.create(sampleSetup());
  const exchange = sampleExchange({ request, model });
  const reply = (whole: Completion) => stage.onReply?.(exchange, whole) as Completion;
  const stream = (chunks: readonly Chunk[], fault?: unknown) =>
    collected(transformed(streamOf(chunks, fault), stage.onStream?.(exchange)));
  return { reply, stream };
}

/** A tool call. */
export const call = { id: 'call_1', type: 'function' as const, function: { name: 'roll', arguments: '{}' } };

/** A choice of a whole reply. */
export const choiceOf = (message: Partial<ReplyMessage>, index = 0): Choice => ({
  index,
  message: { role: 'assistant', content: null, ...message },
  finish_reason: 'stop',
});

/** The deltas of one choice. */
export const deltas = (chunks: readonly Chunk[], index = 0): Delta[] =>
  choicesOf(chunks, index).map(({ delta }) => delta);

/** The message that a client gets of a whole reply with this one. */
export function replied(asked: Asked, message: Partial<ReplyMessage>): ReplyMessage {
  return stageOf(asked).reply({ choices: [choiceOf(message)] }).choices[0]!.message;
}

/** The deltas that a client gets of a stream of these, without the end. */
export async function streamed(asked: Asked, given: readonly Delta[]): Promise<Delta[]> {
  const chunks = [...given.map(delta => chunkOf(delta)), chunkOf({}, 'stop')];
  return deltas(
    (await stageOf(asked).stream(chunks)).chunks.filter(({ choices }) => !choices[0]!.finish_reason),
  );
}
