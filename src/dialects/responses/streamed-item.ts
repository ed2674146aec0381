import type { EventWriter } from './event-writer.ts';
import type { ItemStatus, OutputItem } from './output-items.ts';

/** Where an item goes: its id and position, and what writes its events. */
export interface ItemPlace {
  readonly events: EventWriter;
  readonly id: string;
  readonly output_index: number;
}

/** An output item while it is streamed: added, its pieces, and done exactly once (protocol h2). */
export abstract class StreamedItem {
  /** The item as it was when it was done. */
  item: OutputItem | undefined;
  protected readonly events: EventWriter;
  protected readonly id: string;
  readonly #output_index: number;
  /** Members that say where a piece belongs: the same in all events of an item, so they are encoded once. */
  protected readonly place: string;

  constructor({ events, id, output_index }: ItemPlace) {
    this.events = events;
    this.id = id;
    this.#output_index = output_index;
    this.place = `,"item_id":${JSON.stringify(id)},"output_index":${output_index}`;
  }

  /** Its first event. */
  abstract open(): string;

  /** Its last events. Nothing may be added afterwards. */
  abstract close(status: ItemStatus): string;

  protected added(item: OutputItem): string {
    return this.events.event('response.output_item.added', { output_index: this.#output_index, item });
  }

  protected done(item: OutputItem): string {
    this.item = item;
    return this.events.event('response.output_item.done', { output_index: this.#output_index, item });
  }
}
