import type { ServerConfig } from '../../common/options.ts';
import { type GatewayError, refusal } from '../exchange/errors.ts';

/** Limits of request bodies. */
export type BodyLimits = Pick<
  ServerConfig,
  | 'max_body_bytes'
  | 'max_body_values'
  | 'max_body_keys'
  | 'max_decompression_ratio'
  | 'body_idle_ms'
  | 'body_timeout_ms'
  | 'max_buffered_bytes'
  | 'max_buffered_bytes_per_account'
>;

/** Error for a body, compressed or not, above `max_body_bytes`. */
export function tooLarge(max_body_bytes: number): GatewayError {
  return refusal('body_too_large', {
    message: `The request body is larger than the ${max_body_bytes} bytes accepted.`,
    // The rest of the body is not read, so the connection cannot serve another request.
    headers: { connection: 'close' },
  });
}
