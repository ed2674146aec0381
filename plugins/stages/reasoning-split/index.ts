import { z } from 'zod';
import { defineStage, type Exchange, type StageFactory } from '../../../src/plugin.ts';
import { joinReply, StreamJoiner, separateJoined } from './join.ts';
import type { ReasoningSplitOptions } from './options.ts';
import { StreamSplitter, splitReply } from './split.ts';

const schema = z.strictObject({
  trim: z
    .boolean()
    .default(true)
    .describe('Drop whitespace around the tags; `false` keeps every byte between them, as vLLM does.'),
});

/**
 * Separates or joins reasoning and answer, as the client asks with `reasoning_split`. Reasoning models are separated
 * by default: `<think>` tags become the `reasoning` field. Joined: a field that the upstream has separated is put back, and so is an opening tag that stands in the prompt.
 */
export const reasoningSplit: StageFactory<ReasoningSplitOptions> = defineStage({
  name: 'reasoning-split',
  schema,
  create({ trim }) {
    return {
      mustRead: false,
      onRequest({ request }) {
        if (request.reasoning_split === false) separateJoined(request);
      },
      onReply(exchange, reply) {
        // Texts of another operation are not a model's turn in a chat.
        if (exchange.request.operation) return reply;
        return isActive(exchange)
          ? splitReply(reply, startsInside(exchange), trim)
          : joinReply(reply, startsInside(exchange));
      },
      onStream(exchange) {
        if (exchange.request.operation) return undefined;
        // Whether an opening tag is missing cannot be known before the end, so `auto` means no here.
        const implicit = startsInside(exchange) === true;
        return isActive(exchange) ? new StreamSplitter({ implicit, trim }) : new StreamJoiner(implicit);
      },
    };
  },
});

const isActive = ({ request, model }: Exchange): boolean =>
  request.reasoning_split ?? model?.reasoning ?? false;

const startsInside = ({ request, model }: Exchange): boolean | 'auto' =>
  request.reasoning_effort !== 'none' && (model?.starts_in_reasoning ?? false);
