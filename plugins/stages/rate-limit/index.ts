import { randomUUID } from 'node:crypto';
import { defineStage } from '../../../src/plugin.ts';
import { LimitEnforcer } from './limit-enforcer.ts';
import { schema } from './rate-limit-options.ts';

/**
 * Enforces the limits of accounts (spec 7, 8; protocol i, n20). Requests and concurrency are reserved before the body is read; tokens, money and
 * what is limited on a single model once the request is known, all of them or none. At the end both are replaced by what the exchange used.
 */
export const rateLimit = defineStage({
  name: 'rate-limit',
  metricPrefix: 'sluice_limit_',
  schema,
  create(options, setup) {
    const enforcer = new LimitEnforcer(options, setup, randomUUID());
    return {
      onHeaders: exchange => enforcer.reserveBeforeBody(exchange),
      onRequest: exchange => enforcer.reserveWithRequest(exchange),
      // Every error shows the limit status of the account (i1).
      onError(exchange, error) {
        enforcer.addKnownStatuses(exchange);
        return error;
      },
      onSettled: (exchange, outcome) => enforcer.settle(exchange, outcome),
    };
  },
});
