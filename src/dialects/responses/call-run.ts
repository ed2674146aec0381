import type { ToolCall } from '../../canonical.ts';
import { refusal } from '../../errors.ts';
import { exceeds } from '../json-size.ts';
import type { EventWriter } from './event-writer.ts';
import { placeOf, type Run } from './item-runs.ts';
import { callItem, type ItemStatus, type OutputItem } from './output-items.ts';

const json = JSON.stringify;

/** Arguments of more than this stay open to the end of the stream: to see whether they are whole they must be parsed. */
const max_parsed = { values: 300_000, keys: 150_000 };

/** A function call. Its arguments come in pieces, which may alternate with those of other calls. */
export class CallRun implements Run {
  item: OutputItem | undefined;
  readonly #events: EventWriter;
  readonly #id: string;
  readonly #index: number;
  readonly #place: string;
  readonly #call_id: string;
  readonly #name: string;
  #arguments = '';

  constructor(events: EventWriter, id: string, output_index: number, call_id: string, name: string) {
    this.#events = events;
    this.#id = id;
    this.#index = output_index;
    this.#place = placeOf(id, output_index);
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
    const item = callItem(this.#id, 'in_progress', this.call);
    return this.#events.event('response.output_item.added', { output_index: this.#index, item });
  }

  add(text: string): string {
    if (text === '') return '';
    if (this.item) {
      if (text.trim() === '') return '';
      throw refusal('provider_invalid', { cause: new Error('arguments go on after their end') });
    }
    this.#arguments += text;
    return this.#events.encoded(
      'response.function_call_arguments.delta',
      `${this.#place},"delta":${json(text)}`,
    );
  }

  close(status: ItemStatus): string {
    const item = callItem(this.#id, status, this.call);
    this.item = item;
    const members = `${this.#place},"name":${json(this.#name)},"arguments":${json(this.#arguments)}`;
    return (
      this.#events.encoded('response.function_call_arguments.done', members) +
      this.#events.event('response.output_item.done', { output_index: this.#index, item })
    );
  }
}
