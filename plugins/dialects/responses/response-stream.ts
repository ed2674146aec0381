import {
  type Chunk,
  type ChunkChoice,
  type Delta,
  doneEvent,
  type FinishReason,
  type GatewayError,
  type Identity,
  refusal,
  type StreamRenderer,
  type Usage,
} from '../../../src/plugin.ts';
import { annotationOf, queryIn } from './answer-extras.ts';
import { OpenItems } from './open-items.ts';
import {
  ItemIds,
  type ItemStatus,
  isCutOff,
  logprobsIn,
  reasoningPartOf,
  textItems,
} from './output-items.ts';
import type { ReplyForm } from './reply-form.ts';
import { ResponseObject } from './response-object.ts';
import { compactionItem } from './store/compaction.ts';
import { isStreamedCall } from './streamed-calls.ts';
import { EventWriter, type PartKind, usageMember } from './streamed-items.ts';

/** Stores the JSON of a response with so many items of output. */
export type KeepResponse = (response: string, outputs: number) => Promise<void>;

/** A Responses stream: its beginning, the events of its items, and the whole response with the last event. */
export class ResponseStream implements StreamRenderer {
  readonly #identity: Identity;
  readonly #form: ReplyForm;
  readonly #response: ResponseObject;
  readonly #events: EventWriter;
  readonly #items: OpenItems;
  /** All text so far, by kind, for a message that holds its reasoning. */
  readonly #generated = {
    reasoning_text: '',
    summary_text: '',
    output_text: '',
    refusal: '',
    logprobs: [] as unknown[],
    annotations: [] as NonNullable<Delta['annotations']>,
    images: [] as NonNullable<Delta['images']>,
    native: [] as NonNullable<Delta['native']>,
  };
  #usage: Usage | undefined;
  #finish: FinishReason | undefined;
  #begun = false;
  /** The response, once it has failed. */
  #failed: string | undefined;
  /** Events of the items that were open at the end, once they are closed. */
  #closed: string | undefined;
  readonly #keep: KeepResponse | undefined;

  constructor(identity: Identity, form: ReplyForm, keep?: KeepResponse) {
    this.#identity = identity;
    this.#form = form;
    this.#keep = keep;
    this.#response = new ResponseObject(identity, form.turn);
    this.#events = new EventWriter(identity.request);
    this.#items = new OpenItems(this.#events, new ItemIds(identity.key), form);
  }

  chunk({ choices, usage }: Chunk): string {
    if (usage) {
      this.#usage = usage;
      this.#events.showUsage(usage);
    }
    let text = this.#begun ? '' : this.#begin();
    // This format has one choice only.
    for (let at = 0; at < choices.length; at++)
      if (choices[at]!.index === 0) text += this.#choice(choices[at]!);
    return text;
  }

  error(error: GatewayError): string {
    const { type, message, openaiFields } = error;
    const code = openaiFields ? (error.code ?? type) : type;
    const param = openaiFields ? (error.param ?? null) : null;
    const flat = { code, message, param };
    const failed = this.#response.encoded('failed', { error: { code: failureCode(type), message } });
    this.#failed = failed;
    return (
      (this.#begun ? '' : this.#begin()) +
      this.#events.event('error', { ...flat, error: { message, type, code, param } }) +
      this.#events.encoded('response.failed', member(failed))
    );
  }

  ending(): Promise<void> | undefined {
    if (!this.#keep) return undefined;
    if (this.#failed !== undefined) return this.#keep(this.#failed, 0);
    const finish = this.#finish;
    if (!finish) return undefined;
    this.#closed = this.#items.closeAll(finish);
    const output = this.#output(finish);
    return this.#keep(this.#response.finished(finish, output, this.#usage), output.length);
  }

  end(): string {
    if (this.#failed !== undefined) return doneEvent;
    // A stage has dropped the finish reason. Another one would be wrong.
    if (!this.#finish) return this.error(refusal('server_error')) + doneEvent;
    const closed = this.#compacted() ?? this.#closed ?? this.#items.closeAll(this.#finish);
    return closed + this.#finished(this.#finish) + doneEvent;
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
    if (this.#form.seal) {
      this.#generated.output_text += content ?? '';
      return '';
    }
    let text = reasoning ? this.#text(reasoningPartOf(this.#form.placement), reasoning) : '';
    if (reasoning_details) text += this.#items.sign(reasoning_details);
    const { native, annotations, images } = delta;
    if (native || annotations || images) this.#keepExtras(delta);
    for (const query of native?.flatMap(one => queryIn(one) ?? []) ?? []) text += this.#items.search(query);
    if (content)
      text += this.#text(
        'output_text',
        content,
        this.#events.wantsLogprobs ? logprobsIn(logprobs) : undefined,
      );
    for (const annotation of annotations ?? []) text += this.#items.annotate(annotationOf(annotation));
    if (refusal) text += this.#text('refusal', refusal);
    for (const image of images ?? []) text += this.#items.image(image);
    if (tool_calls) for (const call of tool_calls) text += this.#items.addCall(call);
    return text;
  }

  /** The events of the item of a compaction; undefined of any other response. */
  #compacted(): string | undefined {
    if (!this.#form.seal) return undefined;
    const [item] = this.#output('stop');
    const events = ['added', 'done'].map(at => `response.output_item.${at}`);
    return events.map(type => this.#events.event(type, { output_index: 0, item })).join('');
  }

  /** Keeps what the whole response has beside text, for a message that holds its reasoning. */
  #keepExtras({ native = [], annotations = [], images = [] }: Delta): void {
    if (this.#form.placement !== 'message') return;
    this.#generated.native.push(...native);
    this.#generated.annotations.push(...annotations);
    this.#generated.images.push(...images);
  }

  /** Adds a text to its item. */
  #text(kind: PartKind, text: string, logprobs: readonly unknown[] = none): string {
    if (this.#form.placement === 'message') {
      this.#generated[kind] += text;
      for (const entry of logprobs) this.#generated.logprobs.push(entry);
    }
    return this.#items.addText(kind, text, logprobs);
  }

  #finished(finish: FinishReason): string {
    const usage = this.#usage;
    const response = this.#response.finished(finish, this.#output(finish), usage);
    const type = isCutOff(finish) ? 'response.incomplete' : 'response.completed';
    return this.#events.encoded(type, member(response), usage ? usageMember(usage) : '');
  }

  /** The items in the order of the stream, as OpenAI has them; with reasoning in the message, as in a whole reply. */
  #output(finish_reason: FinishReason): readonly object[] {
    const { seal } = this.#form;
    if (seal) return [compactionItem(this.#identity.key, seal(this.#generated.output_text))];
    if (this.#form.placement !== 'message') return this.#items.all.map(({ item }) => item);
    const {
      reasoning_text: reasoning,
      output_text: content,
      logprobs,
      summary_text: _,
      ...rest
    } = this.#generated;
    const streamed = this.#items.all.filter(isStreamedCall);
    const calls = streamed.map(({ item }, at) => {
      const status: ItemStatus =
        at === streamed.length - 1 && isCutOff(finish_reason) ? 'incomplete' : 'completed';
      return { ...item, status };
    });
    const message = { role: 'assistant' as const, reasoning, content, ...rest };
    const choice = { message, finish_reason, logprobs: { content: logprobs } };
    const ids = new ItemIds(this.#identity.key);
    return [...textItems(ids, this.#identity, choice, this.#form, calls.length > 0), ...calls];
  }
}

const none: readonly unknown[] = [];

const member = (response: string): string => `,"response":${response}`;

/** OpenAI's code of a failed response for an error type. */
function failureCode(type: string): string {
  if (type === 'rate_limit_error') return 'rate_limit_exceeded';
  return type === 'invalid_request_error' ? 'invalid_prompt' : 'server_error';
}
