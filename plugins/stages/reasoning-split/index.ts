import { z } from 'zod';
import { type Completion, defineStage, type Exchange } from '../../../src/plugin.ts';
import { joinReply, StreamJoiner } from './join.ts';
import { StreamSplitter, splitReply } from './split.ts';

const schema = z.strictObject({
  trim: z
    .boolean()
    .default(true)
    .describe('Drop whitespace around the tags; `false` keeps every byte between them, as vLLM does.'),
});

/**
 * Separates or joins reasoning and answer, as the client asks with `reasoning_split` (spec 4.3; protocol f). Reasoning models are separated
 * by default: `<think>` tags become the `reasoning` field. Joined: a field that the upstream has separated is put back.
 */
export const reasoningSplit = defineStage({
  name: 'reasoning-split',
  schema,
  create({ trim }) {
    return {
      onReply(exchange, reply): Completion {
        if (!isActive(exchange)) return joinReply(reply);
        const implicit =
          exchange.request.reasoning_effort === 'none'
            ? false
            : (exchange.model?.starts_in_reasoning ?? false);
        return splitReply(reply, implicit, trim);
      },
      onStream(exchange) {
        if (!isActive(exchange)) return new StreamJoiner();
        // Whether an opening tag is missing cannot be known before the end, so `auto` means no here (f3).
        const implicit =
          exchange.model?.starts_in_reasoning === true && exchange.request.reasoning_effort !== 'none';
        return new StreamSplitter({ implicit, trim });
      },
    };
  },
});

const isActive = ({ request, model }: Exchange): boolean =>
  request.reasoning_split ?? model?.reasoning ?? false;
