import type { HostedItem, ItemStatus } from './answer-extras.ts';
import { StreamedItem } from './streamed-items.ts';

/** The events of what hosted tools do, between those of every item. */
const steps: Readonly<Record<HostedItem['type'], readonly string[]>> = {
  web_search_call: ['in_progress', 'searching', 'completed'],
  image_generation_call: ['in_progress', 'generating', 'completed'],
};

/** What a hosted tool did, which is whole when it is known. */
export class StreamedHosted extends StreamedItem<HostedItem> {
  override close(status: ItemStatus): string {
    const { type } = this.item;
    const done = steps[type].map(step => this.events.encoded(`response.${type}.${step}`, this.place));
    return done.join('') + super.close(status);
  }
}
