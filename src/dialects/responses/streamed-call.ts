import type { ToolCall } from '../../canonical.ts';
import { refusal } from '../../errors.ts';
import { exceeds } from '../json-size.ts';
import { callItem, type ItemStatus } from './output-items.ts';
import { type ItemPlace, StreamedItem } from './streamed-item.ts';

/** Arguments of more than this stay open to the end of the stream: to see whether they are whole they must be parsed. */
const max_parsed = { values: 300_000, keys: 150_000 };

/** A function call. Its arguments come in pieces, which may alternate with those of other calls. */
export class StreamedCall extends StreamedItem {
  readonly #call_id: string;
  readonly #name: string;
  #arguments = '';

  constructor(place: ItemPlace, call_id: string, name: string) {
    super(place);
    this.#call_id = call_id;
    this.#name = name;
  }

  get call(): ToolCall {
    const called = { name: this.#name, arguments: this.#arguments };
    return { id: this.#call_id, type: 'function', function: called };
  }

  /** Nothing more can come: the arguments are a whole object. */
  get isWhole(): boolean {
    if (!this.#arguments.trimEnd().endsWith('}') || exceeds(this.#arguments, max_parsed)) return false;
    try {
      JSON.parse(this.#arguments);
      return true;
    } catch {
      return false;
    }
  }

  open(): string {
    return this.added(callItem(this.id, 'in_progress', this.call));
  }

  add(text: string): string {
    if (text === '') return '';
    if (this.item) {
      if (text.trim() === '') return '';
      throw refusal('provider_invalid', { cause: new Error('arguments go on after their end') });
    }
    this.#arguments += text;
    const members = `${this.place},"delta":${JSON.stringify(text)}`;
    return this.events.encoded('response.function_call_arguments.delta', members);
  }

  close(status: ItemStatus): string {
    const { name, arguments: whole } = this.call.function;
    const members = `${this.place},"name":${JSON.stringify(name)},"arguments":${JSON.stringify(whole)}`;
    return (
      this.events.encoded('response.function_call_arguments.done', members) +
      this.done(callItem(this.id, status, this.call))
    );
  }
}
