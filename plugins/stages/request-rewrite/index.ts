import { z } from 'zod';
import { defineStage } from '../../../src/plugin.ts';

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
 * Makes the request what the upstream should be asked: the catalog's default effort said explicitly, nothing sent that means
 * nothing there (protocol g, m5). The upstream's own model name and its words for an effort are its adapter's.
 */
export const requestRewrite = defineStage({
  name: 'request-rewrite',
  schema,
  create({ set, forward_metadata }) {
    const defaults = Object.entries(set);
    return {
      onRequest({ request, model }) {
        const effort = model?.reasoning_effort;
        if (effort?.supported) request.reasoning_effort ??= effort.default ?? undefined!;
        // Of a model that is in no catalog nothing is known, as where this stage stands alone.
        else if (effort) delete request.reasoning_effort;
        // A choice among no tools is an error to most servers.
        if (!request.tools?.length) {
          delete request.parameters.tool_choice;
          delete request.parameters.parallel_tool_calls;
        }
        // `temperature` and the like have a place of their own in the request.
        for (const [name, value] of defaults) if (!(name in request)) request.parameters[name] ??= value;
        if (forward_metadata && request.metadata) request.parameters.metadata = request.metadata;
      },
    };
  },
});
