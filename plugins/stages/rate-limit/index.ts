import { defineStage, type StageFactory } from '../../../src/plugin.ts';
import { LimitEnforcer } from './limit-enforcer.ts';
import type { RateLimitOptions } from './options.ts';
import { schema } from './options-schema.ts';

/**
 * Enforces the limits of accounts. Reserves requests and concurrency before the body is read; tokens, money
 * and limits on a single model once the request is known, all or none. At the end replaces both by the actual usage.
 */
export const rateLimit: StageFactory<RateLimitOptions> = defineStage({
  name: 'rate-limit',
  metricPrefix: 'sluice_limit_',
  schema,
  create: (options, setup) => new LimitEnforcer(options, setup),
});
