import type { Choice, Chunk, ChunkChoice, FinishReason, ToolCallDelta, Usage } from '../../canonical.ts';
import { type GatewayError, refusal } from '../../errors.ts';
import { doneEvent } from '../../sse/encode.ts';
import type { Identity, StreamRenderer } from '../define-dialect.ts';
import { EventWriter, usageMember } from './event-writer.ts';
import {
  ItemIds,
  isCutOff,
  logprobsIn,
  type OutputItem,
  outputOf,
  type ReasoningPlacement,
  reasoningPartOf,
} from './output-items.ts';
import { ResponseObject } from './response-object.ts';
import { StreamedCall } from './streamed-call.ts';
import type { ItemPlace, StreamedItem } from './streamed-item.ts';
import { type PartKind, StreamedText } from './streamed-text.ts';

/** All that was generated so far, as in a whole reply. */
interface Generated {
  reasoning: string;
  content: string;
  refusal: string;
  logprobs: unknown[];
}

/** A call that has no name yet: clients must get the name first. */
interface UnnamedCall {
  id: string;
  arguments: string;
}

/**
 * A Responses stream (protocol h1 to h4, 3.6). Text of one kind is an item, done when another kind begins; calls stay open as long as
 * their arguments may go on, since servers may alternate between them. The last event has the whole response.
 */
export class ResponseStream implements StreamRenderer {
  readonly #identity: Identity;
  readonly #placement: ReasoningPlacement;
  readonly #partKinds: Readonly<Record<'reasoning' | 'content' | 'refusal', PartKind>>;
  readonly #response: ResponseObject;
  readonly #events = new EventWriter();
  readonly #ids: ItemIds;
  readonly #showsUsage: boolean;
  readonly #wantsLogprobs: boolean;
  readonly #generated: Generated = { reasoning: '', content: '', refusal: '', logprobs: [] };
  /** All items, in the order of their `output_index`. */
  readonly #items: StreamedItem[] = [];
  readonly #calls = new Map<number, StreamedCall | UnnamedCall>();
  /** The reasoning or message that goes on. */
  #current: StreamedText | undefined;
  /** The call that was added to last. */
  #latest: StreamedCall | undefined;
  /** The call that began last, while nothing else has begun. */
  #newest: StreamedCall | undefined;
  #usage: Usage | undefined;
  #finish: FinishReason | undefined;
  #begun = false;
  #failed = false;

  constructor(identity: Identity, placement: ReasoningPlacement) {
    const { request, key } = identity;
    this.#identity = identity;
    this.#placement = placement;
    this.#partKinds = { reasoning: reasoningPartOf(placement), content: 'output_text', refusal: 'refusal' };
    this.#response = new ResponseObject(identity);
    this.#ids = new ItemIds(key);
    this.#showsUsage = request.stream_options?.continuous_usage_stats === true;
    this.#wantsLogprobs = request.parameters.logprobs === true;
  }

  chunk({ choices, usage }: Chunk): string {
    if (usage) {
      this.#usage = usage;
      if (this.#showsUsage) this.#events.showUsage(usage);
    }
    let text = this.#begun ? '' : this.#begin();
    // This format knows one choice only.
    for (const choice of choices) if (choice.index === 0) text += this.#choice(choice);
    return text;
  }

  error(error: GatewayError): string {
    this.#failed = true;
    const { type, message, openaiFields } = error;
    const code = openaiFields ? (error.code ?? type) : type;
    const param = openaiFields ? (error.param ?? null) : null;
    const flat = { code, message, param };
    return (
      (this.#begun ? '' : this.#begin()) +
      this.#events.event('error', { ...flat, error: { message, type, code, param } }) +
      this.#events.encoded('response.failed', member(this.#response.failed(failureCode(type), message)))
    );
  }

  end(): string {
    if (this.#failed) return doneEvent;
    // A stage has swallowed the end; to claim one would be an invention (protocol c3).
    if (!this.#finish) return this.error(refusal('server_error')) + doneEvent;
    return this.#closeAll(this.#finish) + this.#finished(this.#finish) + doneEvent;
  }

  #begin(): string {
    this.#begun = true;
    const response = member(this.#response.inProgress());
    return (
      this.#events.encoded('response.created', response) +
      this.#events.encoded('response.in_progress', response)
    );
  }

  #choice({ delta, finish_reason, logprobs }: ChunkChoice): string {
    if (finish_reason) this.#finish = finish_reason;
    const { reasoning, content, refusal, tool_calls } = delta;
    let text = reasoning ? this.#text('reasoning', reasoning) : '';
    if (content)
      text += this.#text('content', content, this.#wantsLogprobs ? logprobsIn(logprobs) : undefined);
    if (refusal) text += this.#text('refusal', refusal);
    if (tool_calls) for (const call of tool_calls) text += this.#call(call);
    return text;
  }

  /** Adds to the reasoning or message that goes on, or to a new one. */
  #text(key: 'reasoning' | 'content' | 'refusal', text: string, logprobs: readonly unknown[] = []): string {
    this.#generated[key] += text;
    for (const entry of logprobs) this.#generated.logprobs.push(entry);
    const wanted = key === 'reasoning' ? 'reasoning' : 'message';
    let opened = '';
    if (this.#current?.type !== wanted) {
      const item = this.#newText(wanted);
      opened = this.#open(item);
      this.#current = item;
    }
    return opened + this.#current.add(this.#partKinds[key], text, logprobs);
  }

  #call({ index, id = '', function: called = {} }: ToolCallDelta): string {
    const { name = '', arguments: text = '' } = called;
    const known = this.#calls.get(index);
    if (known instanceof StreamedCall) {
      this.#latest = known;
      return known.add(text);
    }
    const before = known ?? { id, arguments: '' };
    before.id ||= id;
    before.arguments += text;
    this.#calls.set(index, before);
    return name === '' ? '' : this.#openCall(index, before, name);
  }

  #openCall(index: number, { id, arguments: text }: UnnamedCall, name: string): string {
    const call = new StreamedCall(this.#place('fc'), this.#ids.callId(id), name);
    const opened = this.#open(call);
    this.#calls.set(index, call);
    this.#newest = this.#latest = call;
    return opened + call.add(text);
  }

  /** Opens an item and closes what cannot go on beside it. Each call is looked at once, as its arguments may be long. */
  #open(item: StreamedItem): string {
    let text = this.#current?.close('completed') ?? '';
    if (this.#newest?.isWhole) text += this.#newest.close('completed');
    this.#current = this.#newest = undefined;
    this.#items.push(item);
    return text + item.open();
  }

  #place(prefix: 'msg' | 'rs' | 'fc'): ItemPlace {
    return { events: this.#events, id: this.#ids.next(prefix), output_index: this.#items.length };
  }

  #newText(type: 'reasoning' | 'message'): StreamedText {
    return new StreamedText(this.#place(type === 'reasoning' ? 'rs' : 'msg'), type, this.#wantsLogprobs);
  }

  #closeAll(finish: FinishReason): string {
    let text = '';
    for (const [index, call] of this.#calls)
      if (!(call instanceof StreamedCall)) text += this.#openCall(index, call, '');
    const last = isCutOff(finish) ? 'incomplete' : 'completed';
    // What a limit has cut off is what was added to last.
    const latest = this.#current ?? this.#latest;
    for (const item of this.#items) if (!item.item) text += item.close(item === latest ? last : 'completed');
    if (!this.#lacksMessage()) return text;
    // The whole response has a message: to put items together, clients need it as one of the stream's as well.
    const message = this.#newText('message');
    this.#items.push(message);
    return text + message.open() + message.close(this.#calls.size > 0 ? 'completed' : last);
  }

  #lacksMessage(): boolean {
    if (this.#items.some(item => item instanceof StreamedText && item.type === 'message')) return false;
    return this.#calls.size === 0 || (this.#placement === 'message' && this.#generated.reasoning !== '');
  }

  #finished(finish: FinishReason): string {
    const usage = this.#usage;
    const response = this.#response.finished(finish, this.#output(finish), usage);
    const type = isCutOff(finish) ? 'response.incomplete' : 'response.completed';
    return this.#events.encoded(type, member(response), usage ? usageMember(usage) : '');
  }

  /** As in OpenAI's own streams each item stands where it was streamed; with reasoning in the message, as in a whole reply. */
  #output(finish_reason: FinishReason): OutputItem[] {
    if (this.#placement !== 'message') return this.#items.flatMap(({ item }) => item ?? []);
    const { logprobs, ...generated } = this.#generated;
    const tool_calls = this.#items.filter(item => item instanceof StreamedCall).map(({ call }) => call);
    const choice: Pick<Choice, 'message' | 'finish_reason' | 'logprobs'> = {
      message: { role: 'assistant', ...generated, tool_calls },
      finish_reason,
      ...(this.#wantsLogprobs && { logprobs: { content: logprobs } }),
    };
    return outputOf(choice, this.#identity.key, this.#placement);
  }
}

const member = (response: string): string => `,"response":${response}`;

/** OpenAI's code of a failed response for one of our types of error. */
function failureCode(type: string): string {
  if (type === 'rate_limit_error') return 'rate_limit_exceeded';
  return type === 'invalid_request_error' ? 'invalid_prompt' : 'server_error';
}
