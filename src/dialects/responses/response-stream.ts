import type { Choice, Chunk, ChunkChoice, FinishReason, ToolCallDelta, Usage } from '../../canonical.ts';
import { type GatewayError, refusal } from '../../errors.ts';
import { doneEvent } from '../../sse/encode.ts';
import type { Identity, StreamRenderer } from '../define-dialect.ts';
import { CallRun } from './call-run.ts';
import { EventWriter, usageMember } from './event-writer.ts';
import { MessageRun, ReasoningRun, type Run } from './item-runs.ts';
import {
  ItemIds,
  isCutOff,
  logprobsIn,
  type OutputItem,
  outputOf,
  type ReasoningPlacement,
} from './output-items.ts';
import { ResponseObject } from './response-object.ts';

/** What has been said so far, as a whole reply would say it. */
interface Said {
  reasoning: string;
  content: string;
  refusal: string;
  logprobs: unknown[];
}

/** A call that has no name yet: clients must hear the name first. */
interface Unnamed {
  id: string;
  arguments: string;
}

/**
 * A Responses stream (protocol h1 to h4, 3.6). A run of one kind is an item, done when another kind begins; calls stay open as long as
 * their arguments may go on, since servers may alternate between them. The last event has the whole response.
 */
export class ResponseStream implements StreamRenderer {
  readonly #identity: Identity;
  readonly #placement: ReasoningPlacement;
  readonly #response: ResponseObject;
  readonly #events = new EventWriter();
  readonly #ids: ItemIds;
  readonly #tellsUsage: boolean;
  readonly #wantsLogprobs: boolean;
  readonly #said: Said = { reasoning: '', content: '', refusal: '', logprobs: [] };
  /** All items, in the order of their `output_index`. */
  readonly #runs: Run[] = [];
  readonly #calls = new Map<number, CallRun | Unnamed>();
  /** The reasoning or the message that goes on. */
  #current: ReasoningRun | MessageRun | undefined;
  /** The call that was added to last. */
  #latest: CallRun | undefined;
  /** The call that began last, while nothing else has begun. */
  #newest: CallRun | undefined;
  #usage: Usage | undefined;
  #finish: FinishReason | undefined;
  #begun = false;
  #failed = false;

  constructor(identity: Identity, placement: ReasoningPlacement) {
    const { request, key } = identity;
    this.#identity = identity;
    this.#placement = placement;
    this.#response = new ResponseObject(identity);
    this.#ids = new ItemIds(key);
    this.#tellsUsage = request.stream_options?.continuous_usage_stats === true;
    this.#wantsLogprobs = request.parameters.logprobs === true;
  }

  chunk({ choices, usage }: Chunk): string {
    if (usage) {
      this.#usage = usage;
      if (this.#tellsUsage) this.#events.tell(usage);
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
    let text = reasoning ? this.#reasoning(reasoning) : '';
    if (content) text += this.#content(content, logprobs);
    if (refusal) text += this.#refusal(refusal);
    if (tool_calls) for (const call of tool_calls) text += this.#call(call);
    return text;
  }

  #reasoning(reasoning: string): string {
    this.#said.reasoning += reasoning;
    if (this.#current instanceof ReasoningRun) return this.#current.add(reasoning);
    const closed = this.#turnAway();
    const run = new ReasoningRun(this.#events, this.#ids.next('rs'), this.#runs.length, this.#placement);
    this.#runs.push((this.#current = run));
    return closed + run.open() + run.add(reasoning);
  }

  #content(content: string, logprobs: unknown): string {
    this.#said.content += content;
    const told = this.#wantsLogprobs ? logprobsIn(logprobs) : undefined;
    for (const entry of told ?? []) this.#said.logprobs.push(entry);
    const opened = this.#message();
    return opened.text + opened.run.add(content, told);
  }

  #refusal(refusal: string): string {
    this.#said.refusal += refusal;
    const opened = this.#message();
    return opened.text + opened.run.refuse(refusal);
  }

  /** The open message, or a new one with the events that make it one. */
  #message(): { run: MessageRun; text: string } {
    if (this.#current instanceof MessageRun) return { run: this.#current, text: '' };
    const closed = this.#turnAway();
    const run = this.#newMessage();
    this.#current = run;
    return { run, text: closed + run.open() };
  }

  #call({ index, id = '', function: called = {} }: ToolCallDelta): string {
    const { name = '', arguments: text = '' } = called;
    const known = this.#calls.get(index);
    if (known instanceof CallRun) {
      this.#latest = known;
      return known.add(text);
    }
    const before = known ?? { id, arguments: '' };
    before.id ||= id;
    before.arguments += text;
    this.#calls.set(index, before);
    return name === '' ? '' : this.#openCall(index, before, name);
  }

  #openCall(index: number, { id, arguments: text }: Unnamed, name: string): string {
    const closed = this.#turnAway();
    const [itemId, callId] = [this.#ids.next('fc'), this.#ids.callId(id)];
    const run = new CallRun(this.#events, itemId, this.#runs.length, callId, name);
    this.#calls.set(index, run);
    this.#runs.push((this.#newest = this.#latest = run));
    return closed + run.open() + run.add(text);
  }

  /** Something else begins: what cannot go on is done. Each call is looked at once, as its arguments may be long. */
  #turnAway(): string {
    const text = this.#current?.close('completed') ?? '';
    const call = this.#newest;
    this.#current = this.#newest = undefined;
    return call?.isWhole ? text + call.close('completed') : text;
  }

  #closeAll(finish: FinishReason): string {
    let text = '';
    for (const [index, call] of this.#calls)
      if (!(call instanceof CallRun)) text += this.#openCall(index, call, '');
    const last = isCutOff(finish) ? 'incomplete' : 'completed';
    // What a limit has cut off is what was added to last.
    const latest = this.#current ?? this.#latest;
    for (const run of this.#runs) if (!run.item) text += run.close(run === latest ? last : 'completed');
    if (!this.#lacksMessage()) return text;
    // The whole response has a message: to put items together, clients need it as one of the stream's as well.
    const message = this.#newMessage();
    return text + message.open() + message.close(this.#calls.size > 0 ? 'completed' : last);
  }

  #lacksMessage(): boolean {
    if (this.#runs.some(run => run instanceof MessageRun)) return false;
    return this.#calls.size === 0 || (this.#placement === 'message' && this.#said.reasoning !== '');
  }

  #newMessage(): MessageRun {
    const run = new MessageRun(this.#events, this.#ids.next('msg'), this.#runs.length, this.#wantsLogprobs);
    this.#runs.push(run);
    return run;
  }

  #finished(finish: FinishReason): string {
    const usage = this.#usage;
    const response = this.#response.finished(finish, this.#output(finish), usage);
    const type = isCutOff(finish) ? 'response.incomplete' : 'response.completed';
    return this.#events.encoded(type, member(response), usage ? usageMember(usage) : '');
  }

  /** As in OpenAI's own streams each item stands where it was streamed; with reasoning in the message, as in a whole reply. */
  #output(finish_reason: FinishReason): OutputItem[] {
    if (this.#placement !== 'message') return this.#runs.flatMap(({ item }) => item ?? []);
    const { logprobs, ...said } = this.#said;
    const tool_calls = this.#runs.filter(run => run instanceof CallRun).map(({ call }) => call);
    const choice: Pick<Choice, 'message' | 'finish_reason' | 'logprobs'> = {
      message: { role: 'assistant', ...said, tool_calls },
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
