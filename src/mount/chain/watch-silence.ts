import type { ServerResponse } from 'node:http';

/**
 * Calls `silent` once if nothing is written to `response` for `idle_ms`, or at most twice that, unless the client is the cause. For replies
 * that bypass the chain and so cannot be observed part by part. Returns a function that stops the watch.
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
