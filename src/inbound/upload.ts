import type { IncomingMessage } from 'node:http';
import { type GatewayError, refusal } from '../errors.ts';
import type { Exchange } from '../exchange.ts';
import { type BodyLimits, tooLarge } from './body-limits.ts';
import type { BufferedBody } from './buffered-bytes.ts';
import { sendContinue } from './expect-continue.ts';

/** Rejection of `bytesOf` when the client leaves while it is sending. */
export class UploadAborted extends Error {}

/** Error for a body that arrives too slowly; `reason` ends the message. */
export function tooSlow(reason: string): GatewayError {
  return refusal('invalid_request', {
    message: `The request body did not arrive${reason}.`,
    headers: { connection: 'close' },
  });
}

/** Collects the bytes of a request body within `limits` and until the exchange aborts, counted in `buffered`. */
export async function bytesOf(
  request: IncomingMessage,
  limits: BodyLimits,
  exchange: Exchange,
  buffered: BufferedBody,
): Promise<Buffer> {
  const announced_bytes = Number(request.headers['content-length']);
  if (announced_bytes > limits.max_body_bytes) throw tooLarge(limits.max_body_bytes);
  if (announced_bytes > 0) buffered.expect(announced_bytes);
  return new Upload(request, limits, exchange, buffered).received;
}

/** One body that is being received. */
class Upload {
  readonly received: Promise<Buffer>;
  readonly #request: IncomingMessage;
  readonly #limits: BodyLimits;
  readonly #exchange: Exchange;
  readonly #buffered: BufferedBody;
  readonly #ends_ms: number;
  readonly #parts: Buffer[] = [];
  #total_bytes = 0;
  /** Fires at the end of the longest pause, or at the total deadline if that is earlier. */
  #timer: NodeJS.Timeout | undefined;
  #isLastTimer = false;
  #resolve: (bytes: Buffer) => void = () => {};
  #reject: (error: Error) => void = () => {};

  constructor(request: IncomingMessage, limits: BodyLimits, exchange: Exchange, buffered: BufferedBody) {
    this.#request = request;
    this.#limits = limits;
    this.#exchange = exchange;
    this.#buffered = buffered;
    this.#ends_ms = exchange.clock.elapsed_ms() + limits.body_timeout_ms;
    this.received = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#begin();
  }

  #begin(): void {
    const request = this.#request;
    if (request.destroyed && !request.complete) return this.#onClose();
    if (request.readableEnded) {
      const cause = new Error('another middleware has read the body and left no request.body');
      return this.#fail(refusal('server_error', { cause }));
    }
    sendContinue(request);
    this.#wait();
    request.on('data', this.#onData).on('end', this.#onEnd).on('close', this.#onClose);
    request.on('error', this.#onClose);
    this.#exchange.onAbort(this.#onAbort);
  }

  readonly #onData = (part: Buffer) => {
    this.#total_bytes += part.length;
    const { max_body_bytes } = this.#limits;
    if (this.#total_bytes > max_body_bytes) return this.#fail(tooLarge(max_body_bytes));
    try {
      this.#buffered.add(part.length);
    } catch (refused) {
      return this.#fail(refused as GatewayError);
    }
    this.#parts.push(part);
    this.#wait();
  };

  /** Uses one timer for both limits: refreshed while the pause ends before the total does, then set once more. */
  #wait(): void {
    if (this.#isLastTimer) return;
    const { body_idle_ms } = this.#limits;
    const left_ms = this.#ends_ms - this.#exchange.clock.elapsed_ms();
    if (left_ms > body_idle_ms && this.#timer) return void this.#timer.refresh();
    clearTimeout(this.#timer);
    this.#isLastTimer = left_ms <= body_idle_ms;
    this.#timer = setTimeout(this.#onTime, Math.max(0, Math.min(left_ms, body_idle_ms)));
  }

  readonly #onTime = () => {
    const { body_idle_ms, body_timeout_ms } = this.#limits;
    const isTotal = this.#isLastTimer;
    this.#fail(
      tooSlow(
        isTotal
          ? ` within ${body_timeout_ms / 1000} seconds`
          : `: nothing for ${body_idle_ms / 1000} seconds`,
      ),
    );
  };

  readonly #onEnd = () => {
    this.#stop();
    const parts = this.#parts;
    this.#resolve(parts.length === 1 ? parts[0]! : Buffer.concat(parts, this.#total_bytes));
  };

  readonly #onClose = () => this.#fail(new UploadAborted('the client left while sending its request'));

  readonly #onAbort = () =>
    this.#exchange.client_gone ? this.#onClose() : this.#fail(refusal('server_error'));

  #fail(error: Error): void {
    this.#stop();
    this.#request.pause();
    this.#reject(error);
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#exchange.offAbort(this.#onAbort);
    this.#request.off('data', this.#onData).off('end', this.#onEnd);
    this.#request.off('close', this.#onClose).off('error', this.#onClose);
  }
}
