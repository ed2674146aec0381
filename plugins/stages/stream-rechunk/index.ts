import { type Chunk, defineStage } from '../../../src/plugin.ts';
import { coalesced } from './coalesce.ts';
import { policyOf, policySchema } from './policy.ts';
import { ShapedStream } from './shape.ts';
import { splitOversized } from './split-oversized.ts';

/**
 * Gives every stream the one shape that clients rely on, whatever the upstream's (protocol d2, d4 to d6): a role chunk first, text
 * without roles, the finish chunk last and with the usage, usage on every chunk where the client asked for it. The size of the
 * pieces is the operator's choice, by class of request.
 */
export const streamRechunk = defineStage({
  name: 'stream-rechunk',
  schema: policySchema,
  create: policies => ({
    onStream(exchange, chunks) {
      const { coalesce_characters, coalesce_ms, split_characters } = policyOf(policies, exchange);
      let sized: AsyncIterable<Chunk> = chunks;
      if (coalesce_characters > 0) sized = coalesced(sized, coalesce_characters, coalesce_ms);
      if (split_characters > 0) sized = splitOversized(sized, split_characters);
      return new ShapedStream(exchange).read(sized);
    },
  }),
});
