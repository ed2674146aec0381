import { Catalog, defineDialect, openAiErrorBody } from '../../../src/plugin.ts';
import { outputOf } from './output-items.ts';
import { placementOf, replyFormOf } from './reply-form.ts';
import { ResponseObject } from './response-object.ts';
import { ResponseStream } from './response-stream.ts';
import { responsesOptions } from './responses-options.ts';
import { parseResponsesRequest } from './responses-request.ts';

/** OpenAI's Responses. */
export const responses = defineDialect({
  name: 'responses',
  paths: { '/v1/responses': ['POST'] },
  public: false,
  errorBody: openAiErrorBody,
  options: { section: 'responses', schema: responsesOptions },
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
