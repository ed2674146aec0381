import type { Chunk } from '../canonical.ts';
import type { SseEvent } from '../sse/parse.ts';
import type { StreamDecoder } from '../upstream/adapter.ts';
import { OpenAiStreamDecoder } from '../upstream/openai/openai-stream-decoder.ts';

/** OpenAI's format. Ids of tool calls that the wire leaves out are made up, and here they are the same at every reading. */
export class SteadyDecoder implements StreamDecoder {
  readonly #wire: string;
  readonly #decoder = new OpenAiStreamDecoder();

  constructor(wire: string) {
    this.#wire = wire;
  }

  get complete(): boolean {
    return this.#decoder.complete;
  }

  decode(event: SseEvent): Chunk[] {
    const chunks = this.#decoder.decode(event);
    for (const { choices } of chunks) {
      for (const { index, delta } of choices) {
        for (const call of delta.tool_calls ?? [])
          if (call.id !== undefined && !this.#wire.includes(call.id)) call.id = `call_${index}_${call.index}`;
      }
    }
    return chunks;
  }
}
