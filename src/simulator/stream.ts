import type { StreamEvent } from './chunks.ts';
import type { Ending } from './faults.ts';
import type { SimulatedExchange } from './simulated-exchange.ts';

/** One stream: the start that all its events share, the events, and their timing. */
export interface StreamScript {
  readonly head: string;
  readonly events: Iterator<StreamEvent, Ending | undefined>;
  readonly ttft_ms: number;
  /** 0: as fast as the client reads. */
  readonly ms_per_token: number;
  /** The event that ends it. */
  readonly done: string;
}

/** Maximum characters of one write: few system calls, and an endless stream still lets others run. */
const BLOCK_CHARS = 32_768;

/**
 * Sends a stream: the headers at once, as vLLM does before the prompt has been read, then event k at its time after the start, however
 * late the one before it was. All that are due go out in one write. Writes nothing while the client does not read, or after it has left.
 */
export function sendStream(exchange: SimulatedExchange, script: StreamScript): void {
  const { response } = exchange;
  const { head, events, ttft_ms, ms_per_token, done } = script;
  const started_ms = performance.now();
  let next = events.next();
  let timer: NodeJS.Timeout | undefined;
  response.once('close', () => clearTimeout(timer));
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'transfer-encoding': 'chunked',
  });
  sendDue();
  if (!response.writableEnded) response.flushHeaders();

  function sendDue(): void {
    if (response.destroyed) return;
    const elapsed_ms = performance.now() - started_ms;
    let block = '';
    let wait_ms = 0;
    while (!next.done && block.length < BLOCK_CHARS) {
      wait_ms = ttft_ms + next.value.step * ms_per_token - elapsed_ms;
      if (wait_ms > 0) break;
      block += next.value.bare ? next.value.text : head + next.value.text;
      next = events.next();
    }
    if (next.done) finish(block, next.value ?? 'done');
    else if (block !== '' && !response.write(block)) response.once('drain', sendDue);
    else if (wait_ms > 0) timer = setTimeout(sendDue, wait_ms);
    else setImmediate(sendDue);
  }

  function finish(block: string, ending: Ending): void {
    if (ending === 'done') response.end(block + done);
    else if (ending === 'end') response.end(block);
    else if (ending !== 'stall') exchange.breakOff(ending, block);
    else if (block !== '') response.write(block);
  }
}
