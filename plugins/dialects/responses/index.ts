import {
  Catalog,
  type Completion,
  type DialectSetup,
  defineDialect,
  dialectGateway,
  type Identity,
  openAiErrorBody,
  textOf,
} from '../../../src/plugin.ts';
import { type OutputItem, outputOf } from './output-items.ts';
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
import type { StoreOptions } from './store/store-options.ts';
import { itemsOf } from './store/stored-items.ts';
import { StoredResponseAnswers } from './store/stored-response-answers.ts';

const section = 'responses';

/** Requests that continue what is stored; undefined without a store, and while a configuration is only checked. */
function continuedRequests(store: StoreOptions | undefined, { get }: DialectSetup) {
  const gateway = store && get?.(dialectGateway);
  return gateway && new ContinuedRequests(new ResponseArchive(store, gateway));
}

/** The JSON of a whole response, and the number of items in its output. */
function wholeResponse(identity: Identity, { choices, usage }: Completion, form: ReplyForm) {
  const choice = choices[0]!;
  const output = form.seal
    ? [compactionItem(identity.key, form.seal(textOf(choice.message.content))) as unknown as OutputItem]
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
    const catalog = new Catalog(setup.models);
    const continued = continuedRequests(options.store, setup);
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
        const placement = placementOf(body, context, options);
        const request = parseResponsesRequest(
          body,
          placement,
          id => catalog.find(id),
          continued?.turnOf(body),
        );
        passParameters(request, catalog.find(request.model));
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
    const continued = continuedRequests(options.store, setup);
    const answers = continued && new StoredResponseAnswers(continued);
    return {
      answer(_headers, _path, exchange) {
        if (!answers) throw new Error('only a configuration that serves has a store');
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
    const catalog = new Catalog(setup.models);
    const continued = continuedRequests(options.store, setup);
    return {
      complete: (body, { account_id }) => continued?.complete(body, account_id),
      parse(body, context) {
        const placement = placementOf(body, context, options);
        return parseResponsesRequest(body, placement, id => catalog.find(id), continued?.turnOf(body));
      },
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
    const catalog = new Catalog(setup.models);
    const continued = continuedRequests(options.store, setup);
    return {
      complete: (body, { account_id }) => continued?.complete({ ...body, store: false }, account_id),
      parse(body, context) {
        const turn = continued?.turnOf(body);
        const request = parseResponsesRequest(body, 'item', id => catalog.find(id), turn);
        const items = [...(turn?.replayed ?? []), ...itemsOf(body)];
        askForSummary(request, items, context.account_id ?? '');
        return request;
      },
      renderReply(identity, reply) {
        if (!continued) throw new Error('only a configuration that serves has a store');
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
    const continued = continuedRequests(options.store, setup);
    const answers = continued && new ConversationAnswers(continued);
    return {
      answer(_headers, _path, exchange, body) {
        if (!answers) throw new Error('only a configuration that serves has a store');
        return answers.answer(exchange, body);
      },
    };
  },
});
