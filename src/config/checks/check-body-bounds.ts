import type { ConfigIssue } from '../../common/config-error.ts';
import type { BodyLimits } from '../../gateway/inbound/body-limits.ts';

/** A body takes up to three times its size, and large ones are kept to three quarters of a limit. */
const least_factor = 4;

/** Reports limits of buffered bytes below what a largest body takes: one of that size would always be refused. */
export function* checkBodyBounds(limits: BodyLimits, at: readonly string[]): Generator<ConfigIssue> {
  const least_bytes = least_factor * limits.max_body_bytes;
  for (const name of ['max_buffered_bytes', 'max_buffered_bytes_per_account'] as const)
    if ((limits[name] ?? least_bytes) < least_bytes)
      yield {
        path: [...at, name],
        message: `must be at least ${least_bytes}, four times max_body_bytes: a body takes up to three times its size, and a quarter is kept for small ones`,
      };
}
