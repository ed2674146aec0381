import { randomUUID } from 'node:crypto';
import { defineStage } from '../../../src/plugin.ts';
import { Gate } from './gate.ts';
import { schema } from './options.ts';

/**
 * Holds the limits of accounts (spec 7, 8; protocol i). An exchange takes from all of them what it will probably use, or is refused; at
 * its end what it did use is put in place of that.
 */
export const rateLimit = defineStage({
  name: 'rate-limit',
  schema,
  create(options, setup) {
    const gate = new Gate(options, setup, randomUUID());
    return {
      // Of what is passed on unread nothing is known but that it is a request.
      onHeaders(exchange) {
        const { name } = exchange.endpoint;
        if (name === 'passthrough' || name === 'unknown') return gate.admit(exchange, undefined);
      },
      onRequest: exchange => gate.admit(exchange, exchange.request),
      // A reply that is looked at is one whose usage is known, and every error tells where the account stands (i1).
      onError(exchange, error) {
        gate.tell(exchange);
        return error;
      },
      onSettled: (exchange, outcome) => gate.settle(exchange, outcome),
    };
  },
});
