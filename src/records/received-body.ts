import type { IncomingMessage } from 'node:http';
import { sendContinue } from '../gateway/inbound/expect-continue.ts';

/** A body is larger than is accepted. */
export class BodyTooLarge extends Error {
  /** Tells it from other errors, also of another copy of the package. */
  override readonly name = 'BodyTooLarge';
}

/** Reads a small body whole. Rejects with BodyTooLarge above `max_bytes`; destroys the request if it takes longer than `patience_ms`. */
export async function receivedBody(
  request: IncomingMessage,
  max_bytes: number,
  patience_ms: number,
): Promise<Buffer> {
  if (Number(request.headers['content-length']) > max_bytes) throw new BodyTooLarge();
  const timer = setTimeout(() => request.destroy(), patience_ms);
  const parts: Buffer[] = [];
  let bytes = 0;
  sendContinue(request);
  try {
    // The connection must stay open to answer a body that is refused.
    for await (const part of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += part.length;
      if (bytes > max_bytes) throw new BodyTooLarge();
      parts.push(part);
    }
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(parts);
}
