import type { Attributes } from '@opentelemetry/api';
import { isObject } from '../../../common/json-object.ts';
import type { StreamDecoder } from '../../exchange/canonical.ts';
import type { Adapter } from '../adapter.ts';
import { max_name_characters } from './gen-ai-attributes.ts';

/** A first event without an id is usual with some servers, such as one about content filters. */
const max_events = 8;
const max_event_characters = 64 * 1024;

/**
 * The upstream's own id and model name of one reply, which the canonical form leaves out. Read from the parsed reply, or from the first
 * events of a stream once they were decoded: at the top, where OpenAI's format has them, or in the `message` of Anthropic's.
 */
export class ReplyIdentity {
  #id: string | undefined;
  #model: string | undefined;
  #events = 0;

  /** Attributes for the span of the attempt. */
  get attributes(): Attributes {
    return { 'gen_ai.response.id': this.#id, 'gen_ai.response.model': this.#model };
  }

  /** An adapter that decodes as `adapter`, and shows the reply here. */
  ofReply(adapter: Pick<Adapter, 'decodeReply'>): Pick<Adapter, 'decodeReply'> {
    return {
      decodeReply: body => {
        const reply = adapter.decodeReply(body);
        this.#read(body);
        return reply;
      },
    };
  }

  /** A decoder that decodes as `decoder`, and shows the first events here. */
  ofStream(decoder: StreamDecoder): StreamDecoder {
    return {
      decode: event => {
        const chunks = decoder.decode(event);
        if (this.#id === undefined && this.#events < max_events) this.#readText(event.data);
        return chunks;
      },
      get complete() {
        return decoder.complete;
      },
      get done() {
        return decoder.done === true;
      },
    };
  }

  #readText(data: string): void {
    this.#events++;
    if (data.length > max_event_characters) return;
    try {
      this.#read(JSON.parse(data));
    } catch {
      // A comment, or the end of the stream.
    }
  }

  #read(body: unknown): void {
    if (!isObject(body)) return;
    const { id, model } = isObject(body.message) ? body.message : body;
    this.#id ??= nameOf(id);
    this.#model ??= nameOf(model);
  }
}

const nameOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value.slice(0, max_name_characters) : undefined;
