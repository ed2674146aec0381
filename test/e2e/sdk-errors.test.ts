import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI, {
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from 'openai';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { clientKey } from '../support/gateway-under-test.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';
import { until } from '../support/until.ts';

let simulator: Simulator;
let sidecar: SidecarProcess;
let openai: OpenAI;

beforeAll(async () => {
  simulator = await startSimulator();
  const server = { max_body_bytes: 200_000, non_stream_timeout_ms: 2000 };
  sidecar = await startSidecar(sidecarConfig(simulator.url, { server }, { pass_upstream_429: true }));
  openai = clientOf(clientKey);
});

afterAll(async () => {
  await sidecar?.stop();
  await simulator?.close();
});

const clientOf = (apiKey: string, maxRetries = 0): OpenAI =>
  new OpenAI({ apiKey, baseURL: `${sidecar.url}/v1`, maxRetries });

const complete = (content: string, more: object = {}, client = openai) =>
  client.chat.completions.create({
    model: 'aion-labs/aion-3.5',
    messages: [{ role: 'user', content }],
    ...more,
  } as OpenAI.ChatCompletionCreateParamsNonStreaming);

/** What was thrown. */
async function thrownBy(running: PromiseLike<unknown>): Promise<APIError> {
  try {
    await running;
  } catch (thrown) {
    if (thrown instanceof APIError) return thrown;
    throw thrown;
  }
  throw new Error('nothing was thrown');
}

describe('each error status', () => {
  const cases: {
    name: string;
    run: () => PromiseLike<unknown>;
    kind: unknown;
    status: number;
    type: string;
    says: RegExp;
  }[] = [
    {
      name: 'an unknown key',
      run: () => complete('Hello', {}, clientOf('sk-unknown')),
      kind: AuthenticationError,
      status: 401,
      type: 'authentication_error',
      says: /^401 Invalid API key\.$/,
    },
    {
      name: 'an unknown model',
      run: () => complete('Hello', { model: 'aion-labs/aion-9' }),
      kind: BadRequestError,
      status: 400,
      type: 'invalid_request_error',
      says: /^400 model: .*'aion-labs\/aion-9'/,
    },
    {
      name: 'an effort that the model does not have',
      run: () => complete('Hello', { reasoning_effort: 'medium' }),
      kind: BadRequestError,
      status: 400,
      type: 'invalid_request_error',
      says: /^400 reasoning_effort: 'medium' is not accepted by aion-labs\/aion-3\.5; use one of: low, high, max\.$/,
    },
    {
      name: "the upstream's refusal",
      run: () => complete('Hello [[sim:status=422 say=Too much of it.]]'),
      kind: BadRequestError,
      status: 400,
      type: 'invalid_request_error',
      says: /^400 Too much of it\.$/,
    },
    {
      name: "the upstream's refusal of the gateway's key",
      run: () => complete('Hello [[sim:status=401]]'),
      kind: BadRequestError,
      status: 400,
      type: 'configuration_error',
      says: /^400 This model is not available/,
    },
    {
      name: 'an unknown path',
      run: () => openai.post('/embeddings', { body: {} }),
      kind: NotFoundError,
      status: 404,
      type: 'invalid_request_error',
      says: /^404 Unknown request URL: POST \/v1\/embeddings\.$/,
    },
    {
      name: 'another method',
      run: () => openai.get('/chat/completions'),
      kind: APIError,
      status: 405,
      type: 'invalid_request_error',
      says: /^405 .*POST/,
    },
    {
      name: 'a body that is too large',
      run: () => complete('x'.repeat(250_000)),
      kind: APIError,
      status: 413,
      type: 'invalid_request_error',
      says: /^413 .*200000 bytes/,
    },
    {
      name: "the upstream's rate limit, passed on",
      run: () => complete('Hello [[sim:status=429]]'),
      kind: RateLimitError,
      status: 429,
      type: 'rate_limit_error',
      says: /^429 /,
    },
    {
      name: 'a failure of the upstream',
      run: () => complete('Hello [[sim:status=503]]'),
      kind: InternalServerError,
      status: 502,
      type: 'provider_error',
      says: /^502 The upstream provider returned an error\.$/,
    },
    {
      name: 'an upstream that hangs up',
      run: () => complete('Hello [[sim:reset]]'),
      kind: InternalServerError,
      status: 502,
      type: 'provider_error',
      says: /^502 The upstream provider could not be reached\.$/,
    },
    {
      name: 'a stream whose upstream fails before its first event',
      run: () => complete('Hello [[sim:status=500]]', { stream: true }),
      kind: InternalServerError,
      status: 502,
      type: 'provider_error',
      says: /^502 /,
    },
  ];

  it.each(cases)(
    'reaches the SDK as its error class for $name',
    async ({ run, kind, status, type, says }) => {
      const error = await thrownBy(run());
      expect(error.constructor).toBe(kind);
      expect(error).toMatchObject({ status, type });
      expect(error.message).toMatch(says);
      expect(error.error).toEqual({ message: error.message.slice(4), type });
      expect(error.requestID).toMatch(/^req_./);
      expect(error.headers?.get('x-request-id')).toBe(error.requestID);
    },
  );
});

describe("the SDK's own retries", () => {
  const requests = () => simulator.stats.requests;

  it('follow an upstream failure', async () => {
    const before = requests();
    await thrownBy(complete('Hello [[sim:status=503]]', {}, clientOf(clientKey, 1)));
    expect(requests() - before).toBe(2);
  });

  it('do not follow a 524, which would be billed again', async () => {
    const { completed, requests: begun } = { ...simulator.stats };
    const error = await thrownBy(complete('Hello [[sim:ttft=3000]]', {}, clientOf(clientKey, 2)));
    expect(error.constructor).toBe(InternalServerError);
    expect(error).toMatchObject({ status: 524, type: 'timeout_error' });
    expect(error.message).toMatch(/^524 No complete answer within 2 seconds\./);
    expect(error.headers?.get('x-should-retry')).toBe('false');
    await until(() => simulator.stats.completed === completed + 1);
    expect(requests() - begun).toBe(1);
  });
});
