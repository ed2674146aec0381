import type { Exchange } from '../exchange.ts';
import type { ReplySink } from './reply-sink.ts';

/** Waits until the client has read on, has left, or has read nothing for `slow_client_ms` and is cut off. */
export function untilDrained(exchange: Exchange, response: ReplySink, slow_client_ms: number): Promise<void> {
  return new Promise(resolve => {
    const cut = setTimeout(() => {
      exchange.end_reason ??= 'slow_client';
      cutOff(response);
    }, slow_client_ms);
    const done = () => {
      clearTimeout(cut);
      exchange.offAbort(done);
      response.off('drain', done).off('close', done);
      resolve();
    };
    exchange.onAbort(done);
    response.on('drain', done).on('close', done);
  });
}

/** The end of a reply must not wait for ever on a client that has stopped reading. */
export function untilFinished(
  exchange: Exchange,
  response: ReplySink,
  slow_client_ms: number,
): Promise<void> {
  return new Promise(resolve => {
    const cut = setTimeout(() => {
      exchange.end_reason ??= 'slow_client';
      // When the process ends, what the system has taken may still be read.
      if (exchange.end_reason === 'shutdown') response.destroy();
      else cutOff(response);
    }, slow_client_ms);
    const done = () => {
      clearTimeout(cut);
      response.off('finish', done).off('close', done);
      resolve();
    };
    response.on('finish', done).on('close', done);
  });
}

/**
 * Ends the connection of a client that does not read. Closed in order it would live on: the system keeps the megabytes that it has taken
 * for as long as that client answers.
 */
export function cutOff(response: ReplySink): void {
  try {
    response.socket?.resetAndDestroy();
  } catch {
    // TLS and pipes know no reset.
  }
  response.destroy();
}
