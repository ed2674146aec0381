import { z } from 'zod';
import { defineStage, type StageFactory } from '../../../src/plugin.ts';
import type { RequestRewriteOptions } from './options.ts';

const schema = z.strictObject({
  set: z
    .record(z.string(), z.unknown())
    .default({})
    .describe('Sampling parameters to send where the client gave none, such as `{ top_p: 0.95 }`.'),
  forward_metadata: z
    .boolean()
    .default(false)
    .describe('Send `metadata` to the upstream; it stays here otherwise.'),
});

/**
 * Rewrites the request for the upstream: sets the catalog's default effort explicitly, and removes parameters without a meaning there.
 * The adapter translates the model name and the effort.
 */
export const requestRewrite: StageFactory<RequestRewriteOptions> = defineStage({
  name: 'request-rewrite',
  schema,
  create({ set, forward_metadata }) {
    const defaults = Object.entries(set);
    return {
      mustRead: false,
      onRequest({ request, model }) {
        const effort = model?.reasoning_effort;
        if (effort?.supported) request.reasoning_effort ??= effort.default ?? undefined!;
        // A model outside the catalog has no known levels, as where this stage is used alone.
        else if (effort) delete request.reasoning_effort;
        // Most servers reject a tool choice without tools.
        if (!request.tools?.length) {
          delete request.parameters.tool_choice;
          delete request.parameters.parallel_tool_calls;
        }
        // `temperature` and others have their own fields in the request.
        for (const [name, value] of defaults) if (!(name in request)) request.parameters[name] ??= value;
        if (forward_metadata && request.metadata) request.parameters.metadata = request.metadata;
      },
    };
  },
});
