import { z } from 'zod';
import {
  type ChatRequest,
  defineDialect,
  requestFields as fields,
  isObject,
  openAiErrorBody,
  parseBody,
  setAsideUnknown,
} from '../../../src/plugin.ts';
import { encoderOf, givenOf, inputsIn, messageOf } from './inputs.ts';
import { expectReply, invalid, noStream, outputOf, replyWith } from './replies.ts';

/** The most documents of one request, as Jina has it. */
const max_documents = 2048;

const aDocument = 'must be a text that is not empty, or an object {text}';
const documents = z
  .custom<unknown[]>(Array.isArray, 'is required: an array of texts')
  .transform((given, issues) => {
    if (given.length === 0 || given.length > max_documents)
      return fields.fault(issues, `must have 1 to ${max_documents} documents.`);
    const texts: string[] = [];
    for (const [at, one] of given.entries()) {
      const text = isObject(one) ? one.text : one;
      if (typeof text !== 'string' || text === '') return fields.fault(issues, aDocument, at);
      texts.push(text);
    }
    return texts;
  });

const rerankRequest = z.object({
  model: fields.sharedFields.model,
  query: fields.nonEmptyText,
  documents,
  top_n: fields.tokens,
  return_documents: fields.flag,
});
const known: ReadonlySet<string> = new Set(Object.keys(rerankRequest.shape));

/** A document by its place, and how well it fits. */
interface Rank {
  readonly index: number;
  readonly relevance_score: number;
}

/** Documents in the order in which they fit a query, as vLLM, Jina and Cohere have it. */
export const rerank = defineDialect({
  name: 'rerank',
  operation: 'rerank',
  paths: { '/v1/rerank': ['POST'], '/v2/rerank': ['POST'] },
  errorBody: openAiErrorBody,
  create: () => ({
    parse: parseRerankRequest,
    renderReply({ key, model, request }, reply) {
      const { top_n = Infinity, return_documents = true } = request.parameters;
      const texts = return_documents ? inputsIn(request, 'document') : [];
      const results = outputOf<Rank[]>(reply)
        .slice(0, Number(top_n))
        .map(rank => ({
          ...rank,
          ...(return_documents === true && { document: { text: texts[rank.index] } }),
        }));
      const { prompt_tokens = 0 } = reply.usage ?? {};
      const usage = { prompt_tokens, total_tokens: prompt_tokens };
      return JSON.stringify({ id: `rerank-${key}`, object: 'list', model, results, usage });
    },
    renderStream: noStream,
  }),
});

/** A request to rank documents in the canonical form: a message for the query, and one for each document. */
function parseRerankRequest(body: Record<string, unknown>): ChatRequest {
  const from = parseBody(rerankRequest, body);
  const { query, documents } = from;
  const request: ChatRequest = {
    model: from.model,
    messages: [messageOf('query', query), ...documents.map(text => messageOf('document', text))],
    stream: false,
    // Nothing is generated.
    max_tokens: 0,
    parameters: givenOf(from, ['top_n', 'return_documents']),
    unknown: {},
    client: { field_names: { messages: 'documents' } },
    operation: {
      name: 'rerank',
      encode: encoderOf('/rerank', ['top_n'], sent => ({
        query: inputsIn(sent, 'query')[0],
        documents: inputsIn(sent, 'document'),
      })),
      decodeReply(reply) {
        expectReply(reply);
        return replyWith(ranksIn(reply, documents.length), reply);
      },
    },
  };
  setAsideUnknown(request, body, known);
  return request;
}

/** The ranks in a reply, best first. SGLang's reply is the list itself, and has them as `score`. */
function ranksIn(body: unknown, documents: number): Rank[] {
  const results = isObject(body) ? body.results : body;
  if (!Array.isArray(results) || results.length > documents) throw invalid('no ranks of the documents');
  const seen = new Set<number>();
  const ranks = results.map((one): Rank => {
    const { index, relevance_score, score } = (isObject(one) ? one : {}) as Record<string, number>;
    const told = relevance_score ?? score;
    if (
      !Number.isInteger(index) ||
      index! < 0 ||
      index! >= documents ||
      seen.has(index!) ||
      !Number.isFinite(told)
    )
      throw invalid('a rank of no document');
    seen.add(index!);
    return { index: index!, relevance_score: told! };
  });
  return ranks.sort((one, other) => other.relevance_score - one.relevance_score);
}
