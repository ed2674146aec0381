import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'expect';
import OpenAI from 'openai';
import { clientKey } from '../../support/gateway-under-test.ts';
import { gatewayWith } from '../place.ts';
import { triedOf } from '../tried.ts';

const settings = { server: { max_body_bytes: 200_000 }, provider: { pass_upstream_429: true } };
const { url } = await gatewayWith(settings);

const openAiOf = (apiKey = clientKey) => new OpenAI({ apiKey, baseURL: `${url}/v1`, maxRetries: 0 });
const anthropicOf = (apiKey = clientKey) =>
  new Anthropic({ apiKey, authToken: null, baseURL: url, maxRetries: 0 });
const openai = openAiOf();
const anthropic = anthropicOf();

const model = 'aion-labs/aion-3.5';
const messages = (content: string) => [{ role: 'user' as const, content }];
type ChatParams = OpenAI.ChatCompletionCreateParamsNonStreaming;
type MessageParams = Anthropic.MessageCreateParamsNonStreaming;
const complete = (content: string, more: object = {}, client = openai) =>
  client.chat.completions.create({ model, messages: messages(content), ...more } as ChatParams);
const respond = (input: string, more: object = {}) => openai.responses.create({ model, input, ...more });
const asked = (content: string, more: object = {}) =>
  ({ model, max_tokens: 2000, messages: messages(content), ...more }) as MessageParams;
const message = (content: string, more: object = {}, client = anthropic) =>
  client.messages.create(asked(content, more));

/** What happens, what is asked, by which request or with which fields, and status, message and type of the error that the SDK raises. */
type Row = readonly [
  title: string,
  ask: string | (() => PromiseLike<unknown>),
  more: object,
  status: number,
  says: RegExp,
  type?: string,
];
/** Types of errors, and the SDKs' classes for them. */
const types: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  404: 'invalid_request_error',
  405: 'invalid_request_error',
  413: 'invalid_request_error',
  429: 'rate_limit_error',
  502: 'provider_error',
};
const classes: Readonly<Record<number, keyof typeof OpenAI & keyof typeof Anthropic>> = {
  400: 'BadRequestError',
  401: 'AuthenticationError',
  404: 'NotFoundError',
  429: 'RateLimitError',
  502: 'InternalServerError',
};

const large = 'x'.repeat(250_000);
const refusing = 'Hello [[sim:status=422 say=Too much of it.]]';
const plain = { model: 'aion-labs/aion-rp-llama-3.1-8b' };
const tool = { name: 'roll', type: 'function', function: { name: 'roll' } };

const chat: readonly Row[] = [
  ['an unknown key', () => complete('Hello', {}, openAiOf('sk-unknown')), {}, 401, /^401 Invalid API key\.$/],
  ['an unknown model', 'Hello', { model: 'aion-labs/aion-9' }, 400, /^400 model: .*'aion-labs\/aion-9'/],
  [
    'an effort that the model does not have',
    'Hello',
    { reasoning_effort: 'medium' },
    400,
    /^400 reasoning_effort: 'medium' is not accepted by aion-labs\/aion-3\.5; use one of: low, high, max\.$/,
  ],
  ['tools on a model that calls none', 'Hello', { ...plain, tools: [tool] }, 400, /^400 tools: /],
  ["the upstream's refusal", refusing, {}, 400, /^400 Too much of it\.$/],
  [
    "the upstream's refusal of the gateway's key",
    'Hello [[sim:status=401]]',
    {},
    400,
    /^400 This model is not available/,
    'configuration_error',
  ],
  [
    'an unknown path',
    () => openai.post('/embeddings', { body: {} }),
    {},
    404,
    /^404 Unknown request URL: POST \/v1\/embeddings\.$/,
  ],
  ['another method', () => openai.get('/chat/completions'), {}, 405, /^405 .*POST/],
  ['a body that is too large', large, {}, 413, /^413 .*200000 bytes/],
  ["the upstream's rate limit, passed on", 'Hello [[sim:status=429]]', {}, 429, /^429 /],
  ['a failure of the upstream', 'Hello [[sim:status=503]]', {}, 502, /^502 .* provider returned an error\.$/],
  ['an upstream that hangs up', 'Hello [[sim:reset]]', {}, 502, /^502 .* provider could not be reached\.$/],
  ['a stream that fails before its first event', 'Hello [[sim:status=500]]', { stream: true }, 502, /^502 /],
];

const responses: readonly Row[] = [
  ['an effort', 'Hello', { reasoning: { effort: 'medium' } }, 400, /^400 reasoning\.effort: /],
  ['state', 'Hello', { previous_response_id: 'resp_1' }, 400, /^400 previous_response_id: /],
  ['a broken upstream', 'Hello [[sim:status=500]]', {}, 502, /^502 /],
  ['the same in a stream', 'Hello [[sim:status=500]]', { stream: true }, 502, /^502 /],
];

const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } };
const use = (id: string) => ({ type: 'tool_use', id, name: 'roll', input: {} });
const seen = [
  { role: 'user', content: 'a' },
  { role: 'assistant', content: [use('a'), use('b')] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'x' }, image] },
];
const unseen = /images are not accepted by aion-labs\/aion-3\.5, whose modality is text->text\./;
const streaming = () => anthropic.messages.stream(asked(refusing)).finalMessage();
const forced = { tool_choice: { type: 'any' } };

const anthropics: readonly Row[] = [
  ['an unknown key', () => message('Hello', {}, anthropicOf('sk-unknown')), {}, 401, /Invalid API key\./],
  ['an unknown model', 'Hello', { model: 'claude-9' }, 400, /model: unknown model 'claude-9'/],
  ['a request without max_tokens', 'Hello', { max_tokens: undefined }, 400, /max_tokens: is required/],
  ['an image that the model does not take', '', { messages: seen }, 400, unseen],
  [
    'a tool that is forced without tools',
    'Hello',
    forced,
    400,
    /tool_choice: forces a tool, and the request/,
  ],
  ["the upstream's refusal", refusing, {}, 400, /Too much of it\./],
  ['a stream that is refused before it begins', streaming, {}, 400, /Too much of it\./],
  ["the upstream's refusal of the gateway's key", 'Hello [[sim:status=401]]', {}, 400, /is not available/],
  [
    'a path below it',
    () => anthropic.messages.batches.list(),
    {},
    404,
    /Unknown request URL: GET \/v1\/messages\/batches\./,
    'not_found_error',
  ],
  ['another method', () => anthropic.get('/v1/messages'), {}, 405, /use POST/],
  ['a body that is too large', large, {}, 413, /200000 bytes/, 'request_too_large'],
  ['a limit', 'Hello [[sim:status=429 retry_after=70]]', {}, 429, /./],
  ['an upstream that fails', 'Hello [[sim:status=500]]', {}, 502, /./, 'api_error'],
];

type Raised = Error & {
  readonly status?: number;
  readonly type?: string;
  readonly error?: unknown;
  readonly requestID?: string;
  readonly headers?: Headers;
};

/** What was thrown. */
async function thrownBy(running: PromiseLike<unknown>): Promise<Raised> {
  const error = await running.then(
    () => new Error('nothing was thrown'),
    (thrown: unknown) => thrown,
  );
  if (error instanceof OpenAI.APIError || error instanceof Anthropic.APIError) return error as Raised;
  throw error;
}

const casesOf = (
  rows: readonly Row[],
  send: (content: string, more: object) => PromiseLike<unknown>,
  sdk: typeof OpenAI | typeof Anthropic,
  bodyOf: (message: string, type: string) => object,
) =>
  Object.fromEntries(
    rows.map(([title, ask, more, status, says, type = types[status]!]) => [
      title,
      async () => {
        const error = await thrownBy(typeof ask === 'string' ? send(ask, more) : ask());
        expect(error).toBeInstanceOf(sdk[classes[status] ?? 'APIError']);
        expect(error).toMatchObject({ status, type, requestID: expect.stringMatching(/^req_./) });
        expect(error.message).toMatch(says);
        expect(error.headers?.get('x-request-id')).toBe(error.requestID);
        expect(error.error).toEqual(bodyOf(error.message, type));
      },
    ]),
  );

const openAiBody = (text: string, type: string) => ({ message: text.slice(4), type });
const anthropicBody = (text: string, type: string) => {
  const message = (JSON.parse(text.slice(4)) as { error: { message: string } }).error.message;
  return { type: 'error', error: { type, message } };
};
triedOf('errors', 'openAiChat', casesOf(chat, complete, OpenAI, openAiBody));
triedOf('errors', 'openAiResponses', casesOf(responses, respond, OpenAI, openAiBody));
triedOf('errors', 'anthropicMessages', casesOf(anthropics, message, Anthropic, anthropicBody));
