import Anthropic from '@anthropic-ai/sdk';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';

const model = 'aion-labs/aion-3.5';
let simulator: Simulator;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  simulator = await startSimulator();
  gateway = await startGateway({
    upstream: simulator,
    server: { max_body_bytes: 200_000, non_stream_timeout_ms: 500 },
    provider: { pass_upstream_429: true },
    config: { messages: { enabled: true } },
  });
});

afterAll(async () => {
  await gateway?.close();
  await simulator?.close();
});

const clientOf = (apiKey: string, maxRetries = 0): Anthropic =>
  new Anthropic({ apiKey, authToken: null, baseURL: gateway.url, maxRetries });

const asked = (content: string, more: object = {}) =>
  ({
    model,
    max_tokens: 2000,
    messages: [{ role: 'user', content }],
    ...more,
  }) as Anthropic.MessageCreateParamsNonStreaming;
const complete = (content: string, more: object = {}, client = clientOf(clientKey)) =>
  client.messages.create(asked(content, more));

/** What was thrown. */
async function thrownBy(running: PromiseLike<unknown>): Promise<InstanceType<typeof Anthropic.APIError>> {
  try {
    await running;
  } catch (thrown) {
    if (thrown instanceof Anthropic.APIError) return thrown;
    throw thrown;
  }
  throw new Error('nothing was thrown');
}

const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } };
const call = (id: string) => ({ type: 'tool_use', id, name: 'roll', input: {} });

describe('the Anthropic SDK on /v1/messages', () => {
  it.each<[string, () => PromiseLike<unknown>, unknown, number, string, RegExp]>([
    [
      'an unknown key',
      () => complete('Hello', {}, clientOf('sk-unknown')),
      Anthropic.AuthenticationError,
      401,
      'authentication_error',
      /Invalid API key\./,
    ],
    [
      'an unknown model',
      () => complete('Hello', { model: 'claude-9' }),
      Anthropic.BadRequestError,
      400,
      'invalid_request_error',
      /model: unknown model 'claude-9'/,
    ],
    [
      'a request without max_tokens',
      () => complete('Hello', { max_tokens: undefined }),
      Anthropic.BadRequestError,
      400,
      'invalid_request_error',
      /max_tokens: is required/,
    ],
    [
      'an image that the model does not take',
      () =>
        complete('', {
          messages: [
            { role: 'user', content: 'a' },
            { role: 'assistant', content: [call('a'), call('b')] },
            { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'x' }, image] },
          ],
        }),
      Anthropic.BadRequestError,
      400,
      'invalid_request_error',
      /messages: images are not accepted by aion-labs\/aion-3\.5, whose modality is text->text\./,
    ],
    [
      'a tool that is forced without tools',
      () => complete('Hello', { tool_choice: { type: 'any' } }),
      Anthropic.BadRequestError,
      400,
      'invalid_request_error',
      /tool_choice: forces a tool, and the request has no tools/,
    ],
    [
      "the upstream's refusal",
      () => complete('Hello [[sim:status=422 say=Too much of it.]]'),
      Anthropic.BadRequestError,
      400,
      'invalid_request_error',
      /Too much of it\./,
    ],
    [
      "the upstream's refusal of the gateway's key",
      () => complete('Hello [[sim:status=401]]'),
      Anthropic.BadRequestError,
      400,
      'invalid_request_error',
      /This model is not available/,
    ],
    [
      'a path below it',
      () => clientOf(clientKey).messages.batches.list(),
      Anthropic.NotFoundError,
      404,
      'not_found_error',
      /Unknown request URL: GET \/v1\/messages\/batches\./,
    ],
    [
      'another method',
      () => clientOf(clientKey).get('/v1/messages'),
      Anthropic.APIError,
      405,
      'invalid_request_error',
      /use POST/,
    ],
    [
      'a body that is too large',
      () => complete('x'.repeat(250_000)),
      Anthropic.APIError,
      413,
      'request_too_large',
      /200000 bytes/,
    ],
    [
      'a limit',
      () => complete('Hello [[sim:status=429 retry_after=70]]'),
      Anthropic.RateLimitError,
      429,
      'rate_limit_error',
      /./,
    ],
    [
      'an upstream that fails',
      () => complete('Hello [[sim:status=500]]'),
      Anthropic.InternalServerError,
      502,
      'api_error',
      /./,
    ],
  ])('raises its own error for %s', async (_, run, kind, status, type, says) => {
    const error = await thrownBy(run());
    expect(error).toBeInstanceOf(kind);
    expect(error).toMatchObject({ status, type, requestID: expect.stringMatching(/./) });
    expect(error.message).toMatch(says);
    expect(error.error).toEqual({ type: 'error', error: { type, message: expect.stringMatching(says) } });
  });

  it('does not repeat a request that has exceeded the time limit', async () => {
    const before = simulator.requests.length;
    const error = await thrownBy(complete('Hello [[sim:ttft=1500 say=Yes]]', {}, clientOf(clientKey, 2)));
    expect(error).toBeInstanceOf(Anthropic.InternalServerError);
    expect(error).toMatchObject({ status: 524, type: 'timeout_error' });
    expect(error.message).toContain('No complete answer within 0.5 seconds. Generation continues');
    expect(simulator.requests).toHaveLength(before + 1);
  });

  it('raises an error for a stream that is refused before it begins', async () => {
    const stream = clientOf(clientKey).messages.stream(asked('Hello [[sim:status=422 say=Too much of it.]]'));
    expect(await thrownBy(stream.finalMessage())).toBeInstanceOf(Anthropic.BadRequestError);
  });

  it.each(['cut=6', 'reset=6', 'error=6', 'truncate=6'])(
    'raises an error for a stream that breaks off (%s)',
    async fault => {
      const stream = clientOf(clientKey).messages.stream(asked(`Hello [[sim:tokens=30 chunk=1 ${fault}]]`));
      let text = '';
      stream.on('thinking', piece => {
        text += piece;
      });
      const error = await thrownBy(stream.finalMessage());
      expect(error).toMatchObject({ type: 'api_error', error: { type: 'error' } });
      expect(text).not.toBe('');
    },
  );

  it('names the header of its clients when the key is missing', async () => {
    const reply = await fetch(`${gateway.url}/v1/messages`, { method: 'POST', body: '{}' });
    expect(reply.status).toBe(401);
    expect(reply.headers.get('request-id')).toBe(reply.headers.get('x-request-id'));
    expect(await reply.json()).toEqual({
      type: 'error',
      error: {
        type: 'authentication_error',
        message: "Missing API key. Send 'x-api-key: <API_KEY>' or 'Authorization: Bearer <API_KEY>'.",
      },
    });
  });
});

it('sends pings while the upstream is silent', async () => {
  const slow = await startGateway({
    upstream: simulator,
    server: { stream_commit_ms: 50, keepalive_ms: 50 },
    config: { messages: { enabled: true } },
  });
  const { text, events } = await slow.stream(asked('[[sim:ttft=1000 say=Yes]]'), { path: '/v1/messages' });
  expect(text).toMatch(/^event: ping\ndata: \{"type":"ping"\}\n\n/);
  expect(events.findIndex(({ event }) => event === 'message_start')).toBeGreaterThan(1);
  await slow.close();
});
