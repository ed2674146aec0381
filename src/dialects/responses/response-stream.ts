import type {
  Chunk,
  ChunkChoice,
  FinishReason,
  ReasoningDetail,
  ToolCallDelta,
  Usage,
} from '../../canonical.ts';
import { type GatewayError, refusal } from '../../errors.ts';
import { doneEvent } from '../../sse/encode.ts';
import type { Identity, StreamRenderer } from '../define-dialect.ts';
import {
  callItem,
  customCallItem,
  ItemIds,
  type ItemStatus,
  isCutOff,
  logprobsIn,
  messageItem,
  type OutputItem,
  reasoningItem,
  reasoningPartOf,
  sign,
  textItems,
  toolOf,
} from './output-items.ts';
import type { ReplyForm } from './reply-form.ts';
import { ResponseObject } from './response-object.ts';
import {
  isStreamedCall,
  type StreamedCall,
  StreamedCustomCall,
  StreamedFunctionCall,
} from './streamed-calls.ts';
import {
  EventWriter,
  type PartKind,
  type StreamedItem,
  StreamedText,
  usageMember,
} from './streamed-items.ts';

/** A call without a name yet. It is not written before, because its first event has the name. */
interface UnnamedCall {
  id: string;
  arguments: string;
}

/**
 * A Responses stream. A text item is done when another kind of item begins. Calls stay open until their arguments
 * are complete, since servers may alternate between them. The last event has the whole response.
 */
export class ResponseStream implements StreamRenderer {
  readonly #identity: Identity;
  readonly #form: ReplyForm;
  readonly #response: ResponseObject;
  readonly #events: EventWriter;
  readonly #ids: ItemIds;
  /** All text so far, by kind. */
  readonly #generated = {
    reasoning_text: '',
    summary_text: '',
    output_text: '',
    refusal: '',
    logprobs: [] as unknown[],
  };
  /** All items, in the order of their `output_index`. */
  readonly #items: StreamedItem[] = [];
  readonly #calls = new Map<number, StreamedCall | UnnamedCall>();
  /** Signed reasoning of the open item. */
  #details: ReasoningDetail[] = [];
  /** The open reasoning or message. */
  #current: StreamedText | undefined;
  /** The call with the newest arguments. */
  #latest: StreamedCall | undefined;
  /** The newest item, if it is a call. */
  #newest: StreamedCall | undefined;
  #usage: Usage | undefined;
  #finish: FinishReason | undefined;
  #begun = false;
  #failed = false;

  constructor(identity: Identity, form: ReplyForm) {
    this.#identity = identity;
    this.#form = form;
    this.#response = new ResponseObject(identity);
    this.#events = new EventWriter(identity.request);
    this.#ids = new ItemIds(identity.key);
  }

  chunk({ choices, usage }: Chunk): string {
    if (usage) {
      this.#usage = usage;
      this.#events.showUsage(usage);
    }
    let text = this.#begun ? '' : this.#begin();
    // This format has one choice only.
    for (const choice of choices) if (choice.index === 0) text += this.#choice(choice);
    return text;
  }

  error(error: GatewayError): string {
    this.#failed = true;
    const { type, message, openaiFields } = error;
    const code = openaiFields ? (error.code ?? type) : type;
    const param = openaiFields ? (error.param ?? null) : null;
    const flat = { code, message, param };
    const failed = this.#response.encoded('failed', { error: { code: failureCode(type), message } });
    return (
      (this.#begun ? '' : this.#begin()) +
      this.#events.event('error', { ...flat, error: { message, type, code, param } }) +
      this.#events.encoded('response.failed', member(failed))
    );
  }

  end(): string {
    if (this.#failed) return doneEvent;
    // A stage has dropped the finish reason, and none may be invented.
    if (!this.#finish) return this.error(refusal('server_error')) + doneEvent;
    return this.#closeAll(this.#finish) + this.#finished(this.#finish) + doneEvent;
  }

  #begin(): string {
    this.#begun = true;
    const response = member(this.#response.encoded('in_progress'));
    return (
      this.#events.encoded('response.created', response) +
      this.#events.encoded('response.in_progress', response)
    );
  }

  #choice({ delta, finish_reason, logprobs }: ChunkChoice): string {
    if (finish_reason) this.#finish = finish_reason;
    const { reasoning, reasoning_details, content, refusal, tool_calls } = delta;
    let text = reasoning ? this.#text(reasoningPartOf(this.#form.placement), reasoning) : '';
    if (reasoning_details) text += this.#sign(reasoning_details);
    if (content)
      text += this.#text(
        'output_text',
        content,
        this.#events.wantsLogprobs ? logprobsIn(logprobs) : undefined,
      );
    if (refusal) text += this.#text('refusal', refusal);
    if (tool_calls) for (const call of tool_calls) text += this.#call(call);
    return text;
  }

  /** Adds to the open item of this kind, or to a new one. */
  #text(kind: PartKind, text: string, logprobs: readonly unknown[] = []): string {
    this.#generated[kind] += text;
    for (const entry of logprobs) this.#generated.logprobs.push(entry);
    const type = kind === 'output_text' || kind === 'refusal' ? 'message' : 'reasoning';
    if (this.#current?.item.type === type) return this.#current.add(kind, text, logprobs);
    const item = this.#newText(type);
    const opened = this.#open(item);
    this.#current = item;
    return opened + item.add(kind, text, logprobs);
  }

  /** Keeps signed reasoning for the item to which it belongs, or to one of its own. */
  #sign(details: readonly ReasoningDetail[]): string {
    if (!this.#form.encrypts || details.length === 0) return '';
    let opened = '';
    if (this.#current?.item.type !== 'reasoning') {
      const item = this.#newText('reasoning');
      opened = this.#open(item);
      this.#current = item;
    }
    for (const detail of details) this.#details.push(detail);
    return opened;
  }

  #call({ index, id = '', function: called = {} }: ToolCallDelta): string {
    const { name = '', arguments: text = '' } = called;
    const known = this.#calls.get(index);
    if (isStreamedCall(known)) {
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
    const call = this.#newCall(this.#ids.callId(id), name);
    const opened = this.#open(call);
    this.#calls.set(index, call);
    this.#newest = this.#latest = call;
    return opened + call.add(text);
  }

  /** Opens an item; closes the open text, and the newest call if it is complete. Each call is checked once, as arguments may be long. */
  #open(item: StreamedItem): string {
    let text = this.#closeText('completed');
    if (this.#newest?.isWhole) text += this.#newest.close('completed');
    this.#newest = undefined;
    this.#items.push(item);
    return text + item.open();
  }

  /** Closes the open text. */
  #closeText(status: ItemStatus): string {
    const text = this.#current;
    this.#current = undefined;
    if (!text) return '';
    if (this.#form.encrypts) sign(text.item, this.#details);
    this.#details = [];
    return text.close(status);
  }

  #newCall(call_id: string, name: string): StreamedCall {
    const tool = toolOf(name, this.#form);
    const at = this.#items.length;
    if (tool.kind === 'custom') {
      const item = customCallItem(this.#ids.next('ctc'), 'in_progress', call_id, tool, '');
      return new StreamedCustomCall(this.#events, item, at);
    }
    const item = callItem(this.#ids.next('fc'), 'in_progress', call_id, tool, '');
    return new StreamedFunctionCall(this.#events, item, at);
  }

  #newText(type: 'reasoning' | 'message'): StreamedText {
    const id = this.#ids.next(type === 'reasoning' ? 'rs' : 'msg');
    const item = (type === 'reasoning' ? reasoningItem : messageItem)(id, 'in_progress', []);
    return new StreamedText(this.#events, item, this.#items.length);
  }

  #closeAll(finish: FinishReason): string {
    let text = '';
    for (const [index, call] of this.#calls)
      if (!isStreamedCall(call)) text += this.#openCall(index, call, '');
    const last = isCutOff(finish) ? 'incomplete' : 'completed';
    // A limit cuts off the item that was added to last.
    const latest = this.#current ?? this.#latest;
    for (const item of this.#items) {
      if (item.isDone) continue;
      const status = item === latest ? last : 'completed';
      text += item === this.#current ? this.#closeText(status) : item.close(status);
    }
    if (!this.#lacksMessage()) return text;
    // The whole response has a message, so clients that assemble items need its events.
    const message = this.#newText('message');
    this.#items.push(message);
    return text + message.open() + message.close(this.#calls.size > 0 ? 'completed' : last);
  }

  #lacksMessage(): boolean {
    if (this.#items.some(({ item }) => item.type === 'message')) return false;
    return (
      this.#calls.size === 0 || (this.#form.placement === 'message' && this.#generated.reasoning_text !== '')
    );
  }

  #finished(finish: FinishReason): string {
    const usage = this.#usage;
    const response = this.#response.finished(finish, this.#output(finish), usage);
    const type = isCutOff(finish) ? 'response.incomplete' : 'response.completed';
    return this.#events.encoded(type, member(response), usage ? usageMember(usage) : '');
  }

  /** The items in the order of the stream, as OpenAI has them; with reasoning in the message, as in a whole reply. */
  #output(finish_reason: FinishReason): OutputItem[] {
    if (this.#form.placement !== 'message') return this.#items.map(({ item }) => item);
    const { reasoning_text: reasoning, output_text: content, refusal, logprobs } = this.#generated;
    const streamed = this.#items.filter(isStreamedCall);
    const calls = streamed.map(({ item }, at) => {
      const status: ItemStatus =
        at === streamed.length - 1 && isCutOff(finish_reason) ? 'incomplete' : 'completed';
      return { ...item, status };
    });
    const message = { role: 'assistant' as const, reasoning, content, refusal };
    const choice = { message, finish_reason, logprobs: { content: logprobs } };
    const ids = new ItemIds(this.#identity.key);
    return [...textItems(ids, this.#identity, choice, this.#form, calls.length > 0), ...calls];
  }
}

const member = (response: string): string => `,"response":${response}`;

/** OpenAI's code of a failed response for an error type. */
function failureCode(type: string): string {
  if (type === 'rate_limit_error') return 'rate_limit_exceeded';
  return type === 'invalid_request_error' ? 'invalid_prompt' : 'server_error';
}
