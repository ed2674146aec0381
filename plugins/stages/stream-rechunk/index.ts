import { defineStage, type StageFactory } from '../../../src/plugin.ts';
import { Coalescer } from './coalesce.ts';
import type { StreamRechunkOptions } from './options.ts';
import { policyOf, policySchema } from './policy.ts';
import { splitOversized } from './split-oversized.ts';

/** Sets the size of a stream's pieces, by class of request: joins small ones, cuts large ones. Without sizes streams are not changed. */
export const streamRechunk: StageFactory<StreamRechunkOptions> = defineStage({
  name: 'stream-rechunk',
  schema: policySchema,
  create: policies => ({
    mustRead: false,
    onStream(exchange) {
      const { coalesce_characters, coalesce_ms, split_characters } = policyOf(policies, exchange);
      const cut = split_characters > 0 ? splitOversized(split_characters) : undefined;
      return coalesce_characters > 0 ? new Coalescer(coalesce_characters, coalesce_ms, cut) : cut;
    },
  }),
});
