import {
  type Chunk,
  type ChunkChoice,
  encodeEvent,
  type GatewayError,
  type Identity,
  refusal,
  type StreamRenderer,
  type Usage,
  usageOf,
} from '../../../src/plugin.ts';
import { imageBlock, nativesIn } from './answer-blocks.ts';
import { anthropicErrorBody, endOf, messageHead, usageFields } from './message-object.ts';
import { event, StreamedBlocks } from './streamed-blocks.ts';

const json = JSON.stringify;
const ping = event('ping', '');

/** A Messages stream. Usage comes with its first event and its last but one; running usage in further `message_delta` events. */
export class MessageStream implements StreamRenderer {
  readonly #identity: Identity;
  readonly #promptTokens: () => number;
  readonly #blocks: StreamedBlocks;
  readonly #wantsUsage: boolean;
  #usage: Usage | undefined;
  #finish: ChunkChoice | undefined;
  #refusal = '';
  #begun = false;
  #failed = false;

  constructor(identity: Identity, promptTokens: () => number) {
    this.#identity = identity;
    this.#promptTokens = promptTokens;
    this.#blocks = new StreamedBlocks(identity.key);
    this.#wantsUsage = identity.request.stream_options?.continuous_usage_stats === true;
  }

  chunk({ choices, usage }: Chunk): string {
    if (usage) this.#usage = usage;
    let text = this.#begun ? '' : this.#begin();
    // This format has one choice only.
    for (let at = 0; at < choices.length; at++)
      if (choices[at]!.index === 0) text += this.#choice(choices[at]!);
    return this.#wantsUsage && !this.#finish && text !== '' ? text + this.#running() : text;
  }

  error(error: GatewayError): string {
    this.#failed = true;
    return encodeEvent(anthropicErrorBody(error), 'error');
  }

  end(): string {
    if (this.#failed) return '';
    // A stage has dropped the finish reason. Another one would be wrong.
    if (!this.#finish) return this.error(refusal('server_error'));
    const delta = endOf(this.#finish as Parameters<typeof endOf>[0], this.#refusal);
    return this.#blocks.end() + this.#delta(delta) + event('message_stop', '');
  }

  heartbeat(): string {
    return ping;
  }

  #begin(): string {
    this.#begun = true;
    const usage = usageFields(this.#usage ?? usageOf(this.#promptTokens(), 0));
    const state = { content: [], stop_reason: null, stop_sequence: null, usage };
    return event('message_start', `,"message":${json({ ...messageHead(this.#identity), ...state })}`) + ping;
  }

  #choice(choice: ChunkChoice): string {
    if (choice.finish_reason) this.#finish = choice;
    const { reasoning, reasoning_details, content, refusal, tool_calls } = choice.delta;
    let text = '';
    const first = reasoning_details?.[0];
    // It ends the thinking before this chunk's.
    const isLate = reasoning && first && this.#blocks.ends(first);
    if (isLate) text += this.#blocks.detail(first);
    if (reasoning) text += this.#blocks.thinking(reasoning);
    if (reasoning_details)
      for (const detail of isLate ? reasoning_details.slice(1) : reasoning_details)
        text += this.#blocks.detail(detail);
    const { native, annotations, images } = choice.delta;
    const said = native || annotations ? nativesIn(choice.delta) : undefined;
    for (const { item } of said?.blocks ?? []) text += this.#blocks.whole(item);
    if (content) text += this.#blocks.text(content);
    if (said && said.cited.length > 0) text += this.#blocks.cite(said.cited.map(({ item }) => item));
    for (const image of images ?? []) text += this.#blocks.whole(imageBlock(image));
    if (refusal) this.#refusal += refusal;
    if (tool_calls) for (const call of tool_calls) text += this.#blocks.call(call);
    const { finish_reason } = choice;
    if (finish_reason && finish_reason !== 'length') this.#blocks.checkCalls();
    return text;
  }

  /** Usage so far. The stop reason is told at the end. */
  #running(): string {
    return this.#usage ? this.#delta({ stop_reason: null, stop_sequence: null }) : '';
  }

  #delta(delta: object): string {
    const usage = usageFields(this.#usage ?? usageOf(0, 0));
    return event('message_delta', `,"delta":${json(delta)},"usage":${json(usage)}`);
  }
}
