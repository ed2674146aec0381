/** One SSE event: `data` is one line of JSON, `event` its type where the dialect has named events. */
export function encodeEvent(data: string, event?: string): string {
  return event === undefined ? `data: ${data}\n\n` : `event: ${event}\ndata: ${data}\n\n`;
}

/** The end of every stream. */
export const doneEvent = 'data: [DONE]\n\n';

/** Keeps the connection alive; clients ignore comments. */
export const keepAliveComment = ': keep-alive\n\n';
