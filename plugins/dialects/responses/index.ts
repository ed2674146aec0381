import { z } from 'zod';
import { Catalog, defineDialect, openAiErrorBody } from '../../../src/plugin.ts';
import { outputOf } from './output-items.ts';
import { placement_settings, placementOf, replyFormOf } from './reply-form.ts';
import { ResponseObject } from './response-object.ts';
import { ResponseStream } from './response-stream.ts';
import { parseResponsesRequest } from './responses-request.ts';

const schema = z.strictObject({
  reasoning_placement: z
    .enum(placement_settings)
    .default('auto')
    .describe(
      "Where reasoning stands in a response: `message`, first in the message's content; `item`, an output item of its own as OpenAI has it; `summary`, such an item with the text as its summary, where all clients look. `auto`: `summary` for requests with `include`, `store`, `reasoning`, `text`, `tools`, `parallel_tool_calls`, `truncation` or `prompt_cache_key`, as agent clients send them; `message` for others. The header `x-reasoning-placement` overrides it with `message`, `item` or `summary`.",
    ),
  reasoning_placement_by_account: z
    .record(z.string(), z.enum(placement_settings))
    .optional()
    .describe('The same by the name of an account, wherever the account is kept.'),
});

/** OpenAI's Responses. */
export const responses = defineDialect({
  name: 'responses',
  paths: { '/v1/responses': ['POST'] },
  public: false,
  errorBody: openAiErrorBody,
  options: { section: 'responses', schema },
  create: (options, { models }) => {
    const catalog = new Catalog(models);
    return {
      parse: (body, context) =>
        parseResponsesRequest(body, placementOf(body, context, options), id => catalog.find(id)),

      renderReply(identity, { choices, usage }) {
        const choice = choices[0]!;
        const output = outputOf(identity, choice, replyFormOf(identity.request, options));
        return new ResponseObject(identity).finished(choice.finish_reason, output, usage);
      },

      renderStream: identity => new ResponseStream(identity, replyFormOf(identity.request, options)),
    };
  },
});
