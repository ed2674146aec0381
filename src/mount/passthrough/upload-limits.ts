import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Clock } from '../../common/clock.ts';
import { tooLarge } from '../../gateway/inbound/body-limits.ts';
import { tooSlow } from '../../gateway/inbound/upload.ts';

/** Limits of a request body that is piped to an upstream. */
export interface UploadLimits {
  readonly max_body_bytes: number;
  readonly body_idle_ms: number;
  readonly body_timeout_ms: number;
  /** On average, after `body_timeout_ms`. */
  readonly min_body_bytes_per_second: number;
}

/** Enforces `limits` on the body piped from `request` to `outgoing`; calls `refuse` when one is exceeded. */
export function limitUpload(
  request: IncomingMessage,
  outgoing: ClientRequest,
  clock: Clock,
  limits: UploadLimits,
  refuse: (error: Error) => void,
): void {
  const { max_body_bytes, body_idle_ms, body_timeout_ms, min_body_bytes_per_second } = limits;
  if (request.complete) {
    if (request.readableLength > max_body_bytes) refuse(tooLarge(max_body_bytes));
    return;
  }
  let sent_bytes = 0;
  /** Deadline of the body; every byte that arrives extends it. */
  let ends_ms = clock.elapsed_ms() + body_timeout_ms;
  let paused_ms = 0;
  const onIdle = () => {
    // The pipe is paused while the upstream does not read; that is not the client's doing.
    if (request.isPaused()) idle.refresh();
    else refuse(tooSlow(`: nothing for ${body_idle_ms / 1000} seconds`));
  };
  const idle = setTimeout(onIdle, body_idle_ms);
  const onData = (part: Buffer) => {
    idle.refresh();
    sent_bytes += part.length;
    ends_ms += (part.length / min_body_bytes_per_second) * 1000;
    if (sent_bytes > max_body_bytes) refuse(tooLarge(max_body_bytes));
    else if (clock.elapsed_ms() > ends_ms)
      refuse(tooSlow(` at ${min_body_bytes_per_second} bytes per second`));
  };
  const onPause = () => {
    paused_ms = clock.elapsed_ms();
  };
  const onDrain = () => {
    if (request.isPaused()) ends_ms += clock.elapsed_ms() - paused_ms;
  };
  const end = () => {
    clearTimeout(idle);
    request.off('data', onData).off('pause', onPause).off('end', end);
    outgoing.off('drain', onDrain);
  };
  request.on('data', onData).on('pause', onPause).on('end', end);
  outgoing.on('drain', onDrain).on('close', end);
}
