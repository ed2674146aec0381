import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../common/clock.ts';
import { type GatewayError, refusal } from '../exchange/errors.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { type BodyLimits, tooLarge } from './body-limits.ts';
import { arriving_factor, piece_bytes } from './body-memory.ts';
import type { BufferedBody } from './buffered-bytes.ts';
import { sendContinue } from './expect-continue.ts';

/** Rejection of `bytesOf` when the client leaves while it is sending. */
export class UploadAborted extends Error {}

const alreadyRead = 'another middleware has read the body and left no request.body';

/** Error for a body that arrives too slowly; `reason` ends the message. */
export function tooSlow(reason: string): GatewayError {
  return refusal('invalid_request', {
    message: `The request body did not arrive${reason}.`,
    headers: { connection: 'close' },
  });
}

/**
 * The bytes of a request body that has arrived whole with its head, as most have one turn after it: nothing is waited for, so that there is
 * nothing to time. Undefined for any other body. Throws as `bytesOf` rejects.
 */
export function receivedBytes(
  request: IncomingMessage,
  { max_body_bytes }: BodyLimits,
  exchange: Exchange,
  buffered: BufferedBody,
): Buffer | undefined {
  const announced_bytes = Number(request.headers['content-length']);
  if (announced_bytes > max_body_bytes) throw tooLarge(max_body_bytes);
  if (!(announced_bytes > 0)) return undefined;
  buffered.expect(arriving_factor * announced_bytes);
  const isThere = request.readableLength === announced_bytes && request.readableFlowing === null;
  if (!isThere || exchange.aborted || request.destroyed) return undefined;
  sendContinue(request);
  const bytes: Buffer | null = request.read();
  // To its end, which may follow.
  request.resume();
  return bytes ?? undefined;
}

/** Collects the bytes of a request body of which `receivedBytes` has found nothing, within `limits` and until the exchange aborts, counted in `buffered`. */
export function bytesOf(
  request: IncomingMessage,
  limits: BodyLimits,
  exchange: Exchange,
  buffered: BufferedBody,
): Promise<Buffer> {
  const { max_body_bytes } = limits;
  return new Promise((resolve, reject) => {
    if (request.destroyed && !request.complete) throw new UploadAborted();
    if (request.readableEnded) throw refusal('server_error', { cause: new Error(alreadyRead) });
    const parts: Buffer[] = [];
    let total_bytes = 0;
    const stop = () => {
      deadline.clear();
      exchange.offAbort(onAbort);
      request.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
    };
    const fail = (error: unknown) => {
      stop();
      request.pause();
      reject(error);
    };
    const onData = (part: Buffer) => {
      total_bytes += part.length;
      try {
        if (total_bytes > max_body_bytes) throw tooLarge(max_body_bytes);
        buffered.add(arriving_factor * part.length + piece_bytes);
      } catch (refused) {
        return fail(refused);
      }
      parts.push(part);
      deadline.postpone();
    };
    const onEnd = () => {
      stop();
      resolve(parts.length === 1 ? parts[0]! : Buffer.concat(parts, total_bytes));
    };
    const onClose = () => fail(new UploadAborted());
    const onAbort = () => (exchange.client_gone ? onClose() : fail(refusal('server_error')));
    const deadline = new Deadline(limits, request, exchange.clock, fail);
    sendContinue(request);
    request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
    exchange.onAbort(onAbort);
  });
}

/** Fails a body after its longest pause, or at the end of its time if that is earlier; one timer serves both. */
class Deadline {
  readonly #limits: BodyLimits;
  readonly #request: IncomingMessage;
  readonly #clock: Clock;
  readonly #ends_ms: number;
  readonly #fail: (error: GatewayError) => void;
  #timer: NodeJS.Timeout | undefined;
  #isLast = false;

  constructor(
    limits: BodyLimits,
    request: IncomingMessage,
    clock: Clock,
    fail: (error: GatewayError) => void,
  ) {
    this.#limits = limits;
    this.#request = request;
    this.#clock = clock;
    this.#ends_ms = clock.elapsed_ms() + limits.body_timeout_ms;
    this.#fail = fail;
    this.postpone();
  }

  /** Allows another pause: refreshes the timer while the pause ends before the time does, and then sets it once more. */
  postpone(): void {
    if (this.#isLast || this.#request.complete) return;
    const { body_idle_ms } = this.#limits;
    const left_ms = this.#ends_ms - this.#clock.elapsed_ms();
    if (left_ms > body_idle_ms && this.#timer) return void this.#timer.refresh();
    clearTimeout(this.#timer);
    this.#isLast = left_ms <= body_idle_ms;
    this.#timer = setTimeout(this.#late, Math.max(0, Math.min(left_ms, body_idle_ms)));
  }

  clear(): void {
    clearTimeout(this.#timer);
  }

  readonly #late = () => {
    const { body_idle_ms, body_timeout_ms } = this.#limits;
    const pause = `: nothing for ${body_idle_ms / 1000} seconds`;
    this.#fail(tooSlow(this.#isLast ? ` within ${body_timeout_ms / 1000} seconds` : pause));
  };
}
