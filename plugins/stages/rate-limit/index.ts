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
  create(options, setup) {
    const enforcer = new LimitEnforcer(options, setup);
    return {
      mustRead: exchange => enforcer.mustRead(exchange),
      onHeaders: exchange => enforcer.reserveBeforeBody(exchange),
      onRequest: exchange => enforcer.reserveWithRequest(exchange),
      // Every error shows the limit status of the account.
      onError(exchange, error) {
        enforcer.addKnownStatuses(exchange);
        return error;
      },
      onSettled: (exchange, outcome) => enforcer.settle(exchange, outcome),
      close: async () => enforcer.metrics.close(),
    };
  },
});
