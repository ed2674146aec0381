import type { ServerResponse } from 'node:http';

/**
 * Calls `silent`, once, when nothing is written to `response` for `idle_ms`, or at most twice that, unless its client is what is waited
 * for. For replies that are written past the chain, and so cannot be seen piece by piece. Returns how to stop.
 */
export function watchSilence(response: ServerResponse, idle_ms: number, silent: () => void): () => void {
  const { socket } = response;
  let written = socket?.bytesWritten;
  const timer = setTimeout(() => {
    const now = socket?.bytesWritten;
    if (now === written && !response.writableNeedDrain) return silent();
    written = now;
    timer.refresh();
  }, idle_ms).unref();
  return () => clearTimeout(timer);
}
