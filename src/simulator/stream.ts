import type { ServerResponse } from 'node:http';
import { breakOff } from './break-off.ts';
import type { StreamEvent } from './chunks.ts';
import type { Pace, Paced } from './pace.ts';
import type { Ending } from './stream-faults.ts';

/** One stream: the start that all its events share, the events, and their timing. */
export interface StreamScript {
  readonly head: string;
  readonly events: Iterator<StreamEvent, Ending | undefined>;
  readonly ttft_ms: number;
  /** 0: as fast as the client reads. */
  readonly ms_per_token: number;
}

/** Maximum characters of one write: few system calls, and an endless stream still lets others run. */
const BLOCK_CHARS = 32_768;

/**
 * Writes a script to a response. Event k goes out at its time after the start, however late the one before it was;
 * all that are due go out in one write; nothing is written while the client does not read.
 */
export class PacedStream implements Paced {
  slot = -1;
  readonly #response: ServerResponse;
  readonly #script: StreamScript;
  readonly #pace: Pace;
  readonly #started_ms: number;
  #held: StreamEvent | undefined;
  #stopped = false;

  constructor(response: ServerResponse, script: StreamScript, pace: Pace) {
    this.#response = response;
    this.#script = script;
    this.#pace = pace;
    this.#started_ms = pace.now();
  }

  /** Sends the headers at once, as vLLM does before the prompt has been read, and whatever is due already. */
  start(): void {
    this.#response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'transfer-encoding': 'chunked',
    });
    this.due();
    if (!this.#response.writableEnded) this.#response.flushHeaders();
  }

  /** Stops for good; to be called when the client has left. */
  stop(): void {
    this.#stopped = true;
    this.#pace.cancel(this);
  }

  due(): void {
    if (this.#stopped) return;
    const elapsed_ms = this.#pace.now() - this.#started_ms;
    let block = '';
    while (block.length < BLOCK_CHARS) {
      const next = this.#held ? { done: false as const, value: this.#held } : this.#script.events.next();
      if (next.done) {
        this.#finish(block, next.value ?? 'done');
        return;
      }
      const due_ms = this.#script.ttft_ms + next.value.step * this.#script.ms_per_token;
      this.#held = undefined;
      if (due_ms > elapsed_ms) {
        this.#held = next.value;
        this.#goOn(block, this.#started_ms + due_ms);
        return;
      }
      block += next.value.bare ? next.value.text : this.#script.head + next.value.text;
    }
    this.#goOn(block, 0);
  }

  #goOn(block: string, due_ms: number): void {
    const flowing = block === '' || this.#response.write(block);
    if (!flowing) this.#response.once('drain', () => this.due());
    else if (due_ms > 0) this.#pace.schedule(this, due_ms);
    else setImmediate(() => this.due());
  }

  #finish(block: string, ending: Ending): void {
    this.stop();
    if (ending === 'done') this.#response.end(`${block}data: [DONE]\n\n`);
    else if (ending === 'end') this.#response.end(block);
    else if (ending !== 'stall') breakOff(this.#response, ending, block);
    else if (block !== '') this.#response.write(block);
  }
}
