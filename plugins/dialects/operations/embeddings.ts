import { z } from 'zod';
import {
  type ChatRequest,
  defineDialect,
  requestFields as fields,
  openAiErrorBody,
  parseBody,
  setAsideUnknown,
} from '../../../src/plugin.ts';
import { encoderOf, givenOf, inputsIn, oneOrAll, textsOrTokens } from './inputs.ts';
import { expectReply, noStream, outputOf, replyWith } from './replies.ts';
import { encoded, encodings, type Vector, vectorsIn } from './vectors.ts';

/** The most inputs of one request, as OpenAI has it. */
const max_inputs = 2048;

const parameters = {
  encoding_format: z.enum(encodings, `must be one of: ${encodings.join(', ')}`).nullish(),
  dimensions: fields.tokens,
  user: fields.optionalText,
};
const embeddingsRequest = z.object({
  model: fields.sharedFields.model,
  input: textsOrTokens('input', max_inputs),
  ...parameters,
});
const known: ReadonlySet<string> = new Set(Object.keys(embeddingsRequest.shape));

/** OpenAI's embeddings. */
export const embeddings = defineDialect({
  name: 'embeddings',
  operation: 'embeddings',
  paths: { '/v1/embeddings': ['POST'] },
  errorBody: openAiErrorBody,
  create: () => ({
    parse: parseEmbeddingsRequest,
    renderReply({ model, request }, reply) {
      const { encoding_format = 'float' } = request.parameters as {
        encoding_format?: (typeof encodings)[number];
      };
      const data = outputOf<Vector[]>(reply).map((vector, index) => ({
        object: 'embedding',
        index,
        embedding: encoded(vector, encoding_format),
      }));
      const { prompt_tokens = 0 } = reply.usage ?? {};
      return JSON.stringify({
        object: 'list',
        data,
        model,
        usage: { prompt_tokens, total_tokens: prompt_tokens },
      });
    },
    renderStream: noStream,
  }),
});

/** A request for embeddings in the canonical form: a message for each input. */
function parseEmbeddingsRequest(body: Record<string, unknown>): ChatRequest {
  const from = parseBody(embeddingsRequest, body);
  const { length } = from.input;
  const request: ChatRequest = {
    model: from.model,
    messages: from.input,
    stream: false,
    // Nothing is generated.
    max_tokens: 0,
    parameters: givenOf(from, Object.keys(parameters)),
    unknown: {},
    client: { field_names: { messages: 'input' } },
    operation: {
      name: 'embeddings',
      encode: encoderOf('/embeddings', Object.keys(parameters), sent => ({
        input: oneOrAll(inputsIn(sent, 'input')),
      })),
      decodeReply(reply) {
        expectReply(reply);
        return replyWith(vectorsIn(reply, length), reply);
      },
    },
  };
  setAsideUnknown(request, body, known);
  return request;
}
