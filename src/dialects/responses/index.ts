import { z } from 'zod';
import { defineDialect } from '../define-dialect.ts';
import { openAiErrorBody } from '../openai-error.ts';
import { outputOf } from './output-items.ts';
import { ResponseObject } from './response-object.ts';
import { ResponseStream } from './response-stream.ts';
import { parseResponsesRequest } from './responses-request.ts';

const schema = z.strictObject({
  reasoning_placement: z
    .enum(['message', 'item', 'summary'])
    .default('message')
    .describe(
      "Where reasoning stands in a response: `message`, first in the message's content; `item`, an output item of its own as OpenAI has it, which agent frameworks expect; `summary`, such an item with the text as its summary, the only reasoning that some clients show.",
    ),
});

/** OpenAI's Responses. */
export const responses = defineDialect({
  name: 'responses',
  paths: { '/v1/responses': ['POST'] },
  public: false,
  errorBody: openAiErrorBody,
  options: { section: 'responses', schema },
  create: ({ reasoning_placement }) => ({
    parse: parseResponsesRequest,

    renderReply(identity, { choices, usage }) {
      const choice = choices[0]!;
      const output = outputOf(identity, choice, reasoning_placement);
      return new ResponseObject(identity).finished(choice.finish_reason, output, usage);
    },

    renderStream: identity => new ResponseStream(identity, reasoning_placement),
  }),
});
