import { defineStage } from '../../../src/plugin.ts';
import { Coalescer } from './coalesce.ts';
import { policyOf, policySchema } from './policy.ts';
import { splitOversized } from './split-oversized.ts';

/** The size of a stream's pieces, by class of request: small ones joined, large ones cut. Without sizes streams pass as they come. */
export const streamRechunk = defineStage({
  name: 'stream-rechunk',
  schema: policySchema,
  create: policies => ({
    onStream(exchange) {
      const { coalesce_characters, coalesce_ms, split_characters } = policyOf(policies, exchange);
      const cut = split_characters > 0 ? splitOversized(split_characters) : undefined;
      return coalesce_characters > 0 ? new Coalescer(coalesce_characters, coalesce_ms, cut) : cut;
    },
  }),
});
