import { randomUUID } from 'node:crypto';
import { defineStage } from '../../../src/plugin.ts';
import { LimitEnforcer } from './limit-enforcer.ts';
import { schema } from './rate-limit-options.ts';

/**
 * Holds the limits of accounts (spec 7, 8; protocol i, n20). Requests and concurrency are reserved before the body is read; tokens, money and
 * what is limited on a single model once the request is known, all of them or none. At the end what the exchange used replaces both.
 */
export const rateLimit = defineStage({
  name: 'rate-limit',
  metricPrefix: 'sluice_limit_',
  schema,
  create(options, setup) {
    const gate = new LimitEnforcer(options, setup, randomUUID());
    return {
      onHeaders: exchange => gate.reserveBeforeBody(exchange),
      onRequest: exchange => gate.reserveWithRequest(exchange),
      // A reply that is looked at is one whose usage is known, and every error tells where the account stands (i1).
      onError(exchange, error) {
        gate.tell(exchange);
        return error;
      },
      onSettled: (exchange, outcome) => gate.settle(exchange, outcome),
    };
  },
});
