import { refusal } from '../../../src/plugin.ts';
import { CustomInput } from './custom-input.ts';
import { type DefinedKind, definedCallOf, objectIn } from './defined-tools.ts';
import type { CallItem, CustomCallItem, DefinedCallItem, ItemStatus } from './output-items.ts';
import { type EventWriter, headOf, StreamedItem } from './streamed-items.ts';

const json = JSON.stringify;
const argumentsDelta = headOf('response.function_call_arguments.delta');
const inputDelta = headOf('response.custom_tool_call_input.delta');

/** A call, whose pieces may alternate with those of other calls. */
export type StreamedCall = StreamedFunctionCall | StreamedCustomCall | StreamedDefinedCall;

/** Whether a streamed item is a call. */
export const isStreamedCall = (item: unknown): item is StreamedCall =>
  item instanceof StreamedFunctionCall ||
  item instanceof StreamedCustomCall ||
  item instanceof StreamedDefinedCall;

/** A function call. */
export class StreamedFunctionCall extends StreamedItem<CallItem> {
  /** Whether the arguments are a complete JSON object. */
  get isWhole(): boolean {
    return objectIn(this.item.arguments) !== undefined;
  }

  add(text: string): string {
    if (text === '' || (this.isDone && text.trim() === '')) return '';
    if (this.isDone)
      throw refusal('provider_invalid', { cause: new Error('arguments go on after their end') });
    this.item.arguments += text;
    const members = `${this.place},"delta":${json(text)}`;
    return this.events.numbered(argumentsDelta, members);
  }

  override close(status: ItemStatus): string {
    const { name, arguments: whole } = this.item;
    const members = `${this.place},"name":${json(name)},"arguments":${json(whole)}`;
    return this.events.encoded('response.function_call_arguments.done', members) + super.close(status);
  }
}

/** A call of a custom tool, whose arguments hold one text. */
export class StreamedCustomCall extends StreamedItem<CustomCallItem> {
  readonly #input = new CustomInput();

  get isWhole(): boolean {
    return this.#input.isWhole;
  }

  add(text: string): string {
    return this.#delta(this.#input.push(text));
  }

  override close(status: ItemStatus): string {
    const rest = this.#delta(this.#input.end());
    const members = `${this.place},"input":${json(this.item.input)}`;
    return rest + this.events.encoded('response.custom_tool_call_input.done', members) + super.close(status);
  }

  #delta(text: string): string {
    if (text === '') return '';
    this.item.input += text;
    return this.events.numbered(inputDelta, `${this.place},"delta":${json(text)}`);
  }
}

/** A call of a tool that OpenAI defines. What it says is known with its whole arguments, so its last event has it. */
export class StreamedDefinedCall extends StreamedItem<DefinedCallItem> {
  readonly #kind: DefinedKind;
  #text = '';

  constructor(events: EventWriter, item: DefinedCallItem, output_index: number, kind: DefinedKind) {
    super(events, item, output_index);
    this.#kind = kind;
  }

  get isWhole(): boolean {
    return objectIn(this.#text) !== undefined;
  }

  add(text: string): string {
    if (this.isDone && text.trim() !== '')
      throw refusal('provider_invalid', { cause: new Error('arguments go on after their end') });
    this.#text += text;
    return '';
  }

  override close(status: ItemStatus): string {
    Object.assign(this.item, definedCallOf(this.#kind, this.#text));
    return super.close(status);
  }
}
