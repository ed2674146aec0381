import { createHmac } from 'node:crypto';
import { Agent } from 'undici';
import { DeliveryFailed, type Notice } from './delivery.ts';
import type { WebhookOptions } from './options.ts';

/** The most of a reply that is read: what is behind it closes the connection. */
const max_reply_bytes = 16 * 1024;
const connect_ms = 5000;

/** The body of a webhook. */
export const webhookBody = ({ id, type, created_ms, data }: Notice): string =>
  JSON.stringify({ id, type, created: new Date(created_ms).toISOString(), data });

/** The headers of Standard Webhooks, with a signature for each secret. */
export function signedHeaders(
  secrets: readonly string[],
  id: string,
  sent_ms: number,
  body: string,
): Record<string, string> {
  const timestamp = String(Math.floor(sent_ms / 1000));
  const signatures = secrets.map(secret => {
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}

/** Posts notices to webhooks. Connections are kept between notices that follow one another. */
export class Webhooks {
  readonly #agent = new Agent({
    connect: { timeout: connect_ms },
    pipelining: 1,
    maxHeaderSize: max_reply_bytes,
  });

  /** Resolves once the receiver has taken it: with a status of 2xx. Throws DeliveryFailed. */
  async post(
    { url, secrets, timeout_ms }: WebhookOptions,
    notice: Notice,
    sent_ms: number,
    signal: AbortSignal,
  ): Promise<void> {
    const body = webhookBody(notice);
    const { origin, pathname, search } = new URL(url);
    const total = AbortSignal.timeout(timeout_ms);
    try {
      const { statusCode, body: reply } = await this.#agent.request({
        origin,
        path: `${pathname}${search}`,
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': 'sluice',
          ...signedHeaders(secrets, notice.id, sent_ms, body),
        },
        body,
        headersTimeout: timeout_ms / 2,
        bodyTimeout: timeout_ms / 2,
        signal: AbortSignal.any([total, signal]),
      });
      await reply.dump({ limit: max_reply_bytes });
      // 410: the receiver is gone for good, as Standard Webhooks has it.
      if (statusCode < 200 || statusCode > 299)
        throw new DeliveryFailed(`status ${statusCode}`, statusCode === 410);
    } catch (thrown) {
      if (thrown instanceof DeliveryFailed) throw thrown;
      if (total.aborted) throw new DeliveryFailed(`no answer within ${timeout_ms} ms`);
      const { code, message } = thrown as NodeJS.ErrnoException;
      throw new DeliveryFailed(code ?? message, false, { cause: thrown });
    }
  }

  /** Ends every connection. */
  close(): Promise<void> {
    return this.#agent.destroy();
  }
}
