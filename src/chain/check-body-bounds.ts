import type { ConfigIssue } from '../diagnostics/config-error.ts';
import type { BodyLimits } from '../inbound/body-limits.ts';

/** Reports limits of buffered bytes below the largest body: a body of that size would always be refused. */
export function* checkBodyBounds(limits: BodyLimits, at: readonly string[]): Generator<ConfigIssue> {
  for (const name of ['max_buffered_bytes', 'max_buffered_bytes_per_account'] as const)
    if (limits[name] < limits.max_body_bytes)
      yield { path: [...at, name], message: `must be at least max_body_bytes, ${limits.max_body_bytes}` };
}
