import type { FinishReason, ImagePart, ReasoningDetail, ToolCallDelta } from '../../../src/plugin.ts';
import { type HostedItem, imageItem, searchItem } from './answer-extras.ts';
import type { DefinedKind } from './defined-tools.ts';
import {
  type ItemIds,
  type ItemStatus,
  isCutOff,
  itemOfCall,
  messageItem,
  reasoningItem,
  sign,
  toolOf,
} from './output-items.ts';
import type { ReplyForm } from './reply-form.ts';
import {
  isStreamedCall,
  type StreamedCall,
  StreamedCustomCall,
  StreamedDefinedCall,
  StreamedFunctionCall,
} from './streamed-calls.ts';
import { StreamedHosted } from './streamed-hosted.ts';
import { type EventWriter, type PartKind, type StreamedItem, StreamedText } from './streamed-items.ts';

/** A call without a name yet. It is not written before, because its first event has the name. */
interface UnnamedCall {
  id: string;
  arguments: string;
}

/**
 * The items of one stream. A text item is done when another kind of item begins. Calls stay open until their arguments are complete, since
 * servers may alternate between them. Each method returns the events that it causes.
 */
export class OpenItems {
  readonly #events: EventWriter;
  readonly #ids: ItemIds;
  readonly #form: ReplyForm;
  /** All items, in the order of their `output_index`. */
  readonly all: StreamedItem[] = [];
  readonly #calls = new Map<number, StreamedCall | UnnamedCall>();
  /** Signed reasoning of the open item. */
  #details: ReasoningDetail[] = [];
  /** The open reasoning or message. */
  #current: StreamedText | undefined;
  /** The call with the newest arguments. */
  #latest: StreamedCall | undefined;
  /** The newest item, if it is a call. */
  #newest: StreamedCall | undefined;

  constructor(events: EventWriter, ids: ItemIds, form: ReplyForm) {
    this.#events = events;
    this.#ids = ids;
    this.#form = form;
  }

  /** Adds to the open item of this kind, or to a new one. */
  addText(kind: PartKind, text: string, logprobs: readonly unknown[]): string {
    const type = kind === 'output_text' || kind === 'refusal' ? 'message' : 'reasoning';
    if (this.#current?.item.type === type) return this.#current.add(kind, text, logprobs);
    const item = this.#newText(type);
    const opened = this.#open(item);
    this.#current = item;
    return opened + item.add(kind, text, logprobs);
  }

  /** Keeps signed reasoning for the item to which it belongs, or to one of its own. */
  sign(details: readonly ReasoningDetail[]): string {
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

  /** Adds a citation to the open text, or to a new one. */
  annotate(annotation: object): string {
    const opened = this.#current?.item.type === 'message' ? '' : this.addText('output_text', '', []);
    return opened + (this.#current?.annotate(annotation) ?? '');
  }

  /** Adds a search, which is over when it is told. */
  search(query: string): string {
    return this.#addHosted(searchItem(this.#ids.next('ws'), 'in_progress', query));
  }

  /** Adds an image, which comes whole. */
  image(image: ImagePart): string {
    return this.#addHosted(imageItem(this.#ids.next('ig'), 'in_progress', image));
  }

  #addHosted(item: HostedItem): string {
    const streamed = new StreamedHosted(this.#events, item, this.all.length);
    return this.#open(streamed) + streamed.close('completed');
  }

  addCall({ index, id = '', function: called = {} }: ToolCallDelta): string {
    const { name = '', arguments: text = '' } = called;
    const known = this.#calls.get(index);
    if (isStreamedCall(known)) {
      // Servers may add nothing, or a space, to a call that is done.
      if (!known.isDone) this.#latest = known;
      return known.add(text);
    }
    const before = known ?? { id, arguments: '' };
    before.id ||= id;
    before.arguments += text;
    this.#calls.set(index, before);
    return name === '' ? '' : this.#openCall(index, before, name);
  }

  #openCall(index: number, { id, arguments: text }: UnnamedCall, name: string): string {
    const call = this.#newCall(id, name);
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
    this.all.push(item);
    return text + item.open();
  }

  /** Closes the open text. */
  #closeText(status: ItemStatus): string {
    const text = this.#current;
    this.#current = undefined;
    if (!text) return '';
    const { encrypts } = this.#form;
    if (encrypts === true || (encrypts && this.#details.length > 0)) sign(text.item, this.#details);
    this.#details = [];
    return text.close(status);
  }

  #newCall(id: string, name: string): StreamedCall {
    const tool = toolOf(name, this.#form);
    const item = itemOfCall(this.#ids, id, tool, 'in_progress', '');
    const at = this.all.length;
    if ('arguments' in item) return new StreamedFunctionCall(this.#events, item, at);
    if ('input' in item) return new StreamedCustomCall(this.#events, item, at);
    return new StreamedDefinedCall(this.#events, item, at, tool.kind as DefinedKind);
  }

  #newText(type: 'reasoning' | 'message'): StreamedText {
    const id = this.#ids.next(type === 'reasoning' ? 'rs' : 'msg');
    const item = (type === 'reasoning' ? reasoningItem : messageItem)(id, 'in_progress', []);
    return new StreamedText(this.#events, item, this.all.length);
  }

  /** Closes all that is open at the end. */
  closeAll(finish: FinishReason): string {
    let text = '';
    for (const [index, call] of this.#calls)
      if (!isStreamedCall(call)) text += this.#openCall(index, call, '');
    const last = isCutOff(finish) ? 'incomplete' : 'completed';
    // A limit cuts off the item that was added to last.
    const latest = this.#current ?? this.#latest;
    for (const item of this.all) {
      if (item.isDone) continue;
      const status = item === latest ? last : 'completed';
      text += item === this.#current ? this.#closeText(status) : item.close(status);
    }
    if (!this.#lacksMessage()) return text;
    // The whole response has a message, so clients that assemble items need its events.
    const message = this.#newText('message');
    this.all.push(message);
    return text + message.open() + message.close(this.#calls.size > 0 ? 'completed' : last);
  }

  #lacksMessage(): boolean {
    if (this.all.some(({ item }) => item.type === 'message')) return false;
    return (
      this.#calls.size === 0 ||
      (this.#form.placement === 'message' && this.all.some(({ item }) => item.type === 'reasoning'))
    );
  }
}
