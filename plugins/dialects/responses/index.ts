import type { z } from 'zod';
import {
  Catalog,
  type Completion,
  type DialectSetup,
  defineDialect,
  dialectGateway,
  type Identity,
  type Json,
  openAiErrorBody,
  type RequestContext,
  textOf,
} from '../../../src/plugin.ts';
import { outputOf } from './output-items.ts';
import { passParameters } from './passed-parameters.ts';
import { plainSummaryOf } from './plain-summary.ts';
import { placementOf, type ReplyForm, replyFormOf } from './reply-form.ts';
import { ResponseObject } from './response-object.ts';
import { type KeepResponse, ResponseStream } from './response-stream.ts';
import { responsesOptions } from './responses-options.ts';
import { parseResponsesRequest } from './responses-request.ts';
import {
  answerBySummary,
  askForSummary,
  compactionItem,
  compactionObject,
  isTriggered,
} from './store/compaction.ts';
import { ContinuedRequests } from './store/continued-requests.ts';
import { ConversationAnswers } from './store/conversation-answers.ts';
import { detachedResponse, keeperOf } from './store/detached-response.ts';
import { ResponseArchive } from './store/response-archive.ts';
import { itemsOf } from './store/stored-items.ts';
import { StoredResponseAnswers } from './store/stored-response-answers.ts';

const section = 'responses';

type Options = z.output<typeof responsesOptions>;

/** Requests that continue what is stored; undefined without a store, and while a configuration is only checked. */
function continuedRequests({ store }: Options, { get }: DialectSetup) {
  const gateway = store && get?.(dialectGateway);
  return gateway && new ContinuedRequests(new ResponseArchive(store, gateway));
}

/** What reads requests of the Responses API, with what they continue. */
function readerOf(options: Options, setup: DialectSetup) {
  const catalog = new Catalog(setup.models);
  const find = (id: string) => catalog.find(id);
  const continued = continuedRequests(options, setup);
  const read = (body: Json, context: RequestContext) =>
    parseResponsesRequest(body, placementOf(body, context, options), find, continued?.turnOf(body));
  return { continued, find, read };
}

const noStore = () => new Error('only a configuration that serves has a store');

/** The JSON of a whole response, and the number of items in its output. */
function wholeResponse(identity: Identity, { choices, usage }: Completion, form: ReplyForm) {
  const choice = choices[0]!;
  const output = form.seal
    ? [compactionItem(identity.key, form.seal(textOf(choice.message.content)))]
    : outputOf(identity, choice, form);
  const response = new ResponseObject(identity, form.turn).finished(choice.finish_reason, output, usage);
  return { response, outputs: output.length };
}

/** OpenAI's Responses. */
export const responses = defineDialect({
  name: 'responses',
  paths: { '/v1/responses': ['POST'] },
  public: false,
  errorBody: openAiErrorBody,
  options: { section, schema: responsesOptions },
  create(options, setup) {
    const { continued, find, read } = readerOf(options, setup);
    const formOf = ({ request }: Identity) => replyFormOf(request, options);
    const keepOf = (identity: Identity): KeepResponse | undefined => {
      const { turn } = formOf(identity);
      return continued && turn && keeperOf(continued, turn, identity);
    };
    return {
      ...(continued && {
        complete: (body, { account_id }) => continued.complete(body, account_id),
        detach: (identity, end) => detachedResponse(continued, identity, formOf(identity), end),
        keep(identity, reply) {
          const keep = keepOf(identity);
          if (!keep) return undefined;
          const { response, outputs } = wholeResponse(identity, reply, formOf(identity));
          return keep(response, outputs);
        },
      }),

      parse(body, context) {
        const request = read(body, context);
        passParameters(request, find(request.model));
        if (isTriggered(body)) {
          const { account_id = '' } = context;
          answerBySummary(request, text => continued?.archive.seal(account_id, text) ?? plainSummaryOf(text));
        }
        return request;
      },
      renamed: passParameters,

      renderReply: (identity, reply) => wholeResponse(identity, reply, formOf(identity)).response,

      renderStream(given) {
        const form = formOf(given);
        const identity = form.turn?.identity ?? given;
        return new ResponseStream(identity, form, keepOf(identity));
      },
    };
  },
});

/** Responses that are stored, by their ids. */
export const storedResponseRoutes = defineDialect({
  name: 'responses.stored',
  paths: { '/v1/responses/*': ['GET', 'POST', 'DELETE'] },
  errorBody: openAiErrorBody,
  options: { section, schema: responsesOptions, needs: 'store' },
  create(options, setup) {
    const continued = continuedRequests(options, setup);
    const answers = continued && new StoredResponseAnswers(continued);
    return {
      answer(_headers, _path, exchange) {
        if (!answers) throw noStore();
        return answers.answer(exchange);
      },
    };
  },
});

/** The tokens of the prompt of such a request with what it continues, estimated. */
export const responsesInputTokens = defineDialect({
  name: 'responses.input-tokens',
  paths: { '/v1/responses/input_tokens': ['POST'] },
  errorBody: openAiErrorBody,
  options: { section, schema: responsesOptions, needs: 'store' },
  create(options, setup) {
    const { continued, read } = readerOf(options, setup);
    return {
      complete: (body, { account_id }) => continued?.complete(body, account_id),
      parse: read,
      answerRequest: (_identity, promptTokens) =>
        JSON.stringify({ object: 'response.input_tokens', input_tokens: promptTokens() }),
    };
  },
});

/** A conversation in fewer tokens, summarized by the model itself. */
export const responsesCompact = defineDialect({
  name: 'responses.compact',
  paths: { '/v1/responses/compact': ['POST'] },
  errorBody: openAiErrorBody,
  options: { section, schema: responsesOptions, needs: 'store' },
  create(options, setup) {
    const { continued, find } = readerOf(options, setup);
    return {
      complete: (body, { account_id }) => continued?.complete({ ...body, store: false }, account_id),
      parse(body, context) {
        const turn = continued?.turnOf(body);
        // Its reply has no reasoning, so that no header for it is read.
        const request = parseResponsesRequest(body, 'item', find, turn);
        const items = [...(turn?.replayed ?? []), ...itemsOf(body)];
        askForSummary(request, items, context.account_id ?? '');
        return request;
      },
      renderReply(identity, reply) {
        if (!continued) throw noStore();
        return compactionObject(continued.archive, identity, reply);
      },
      renderStream() {
        throw new Error('a compaction is no stream');
      },
    };
  },
});

/** Conversations, which requests name in place of a response. */
export const conversations = defineDialect({
  name: 'conversations',
  paths: { '/v1/conversations': ['POST'], '/v1/conversations/*': ['GET', 'POST', 'DELETE'] },
  errorBody: openAiErrorBody,
  options: { section, schema: responsesOptions, needs: 'store' },
  create(options, setup) {
    const continued = continuedRequests(options, setup);
    const answers = continued && new ConversationAnswers(continued);
    return {
      answer(_headers, _path, exchange, body) {
        if (!answers) throw noStore();
        return answers.answer(exchange, body);
      },
    };
  },
});
