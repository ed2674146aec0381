import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { defaultModels } from '../../src/config/example-models.ts';
import type { GatewayConfig } from '../../src/config/schema.ts';
import { ask, clientKey, eventsOf } from '../support/gateway-under-test.ts';
import { completion, delta, finished, said, used } from '../support/hostile-setting.ts';
import {
  events,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamed,
  whole,
} from '../support/scripted-upstream.ts';
import { endServed, type SidecarHere, serveHere } from '../support/sidecar-here.ts';
import { sidecarConfig } from '../support/sidecar-process.ts';
import { until } from '../support/until.ts';

const [large, mini, other] = ['aion-labs/aion-3.5', 'aion-labs/aion-3.5-mini', 'aion-labs/aion-3.0'];
const [limited, usual, thrifty] = [
  'aion-labs/aion-3.0-mini',
  'aion-labs/aion-2.0',
  'aion-labs/aion-rp-llama-3.1-8b',
];
const prices = (prompt: string, completion: string) => ({ prompt, completion });

/** Keys of an account with $0.01 a month, and of one with a limit on one model. */
const [poor, limitedKey] = ['sk-poor-0123456789abcdef', 'sk-limited-0123456789ab'];

let first: ScriptedUpstream;
let second: ScriptedUpstream;
let sidecar: SidecarHere;

beforeAll(async () => {
  [first, second] = await Promise.all([startScriptedUpstream(), startScriptedUpstream()]);
  const config = sidecarConfig(first.url);
  const [one, two, three, four, five, six] = defaultModels('upstream').map(model => ({ ...model }));
  sidecar = await serveHere({
    ...config,
    log: { level: 'info' },
    messages: { enabled: true },
    accounts: {
      ...config.accounts,
      poor: { limits: { usd_per_month: 0.01 }, keys: [{ value: poor }] },
      limited: { limits: { models: { [mini]: { requests_per_minute: 5 } } }, keys: [{ value: limitedKey }] },
    },
    providers: { ...config.providers, second: { adapter: 'vllm', base_url: second.url } },
    models: [
      {
        ...one,
        pricing: prices('0.000002', '0.000004'),
        upstreams: [{ provider: 'upstream', model: 'one', paid_prices: prices('0.000001', '0.000002') }],
        fallbacks: { context_length: [mini], content_filter: [other, mini], unavailable: [mini] },
      },
      {
        ...two,
        pricing: prices('0.00001', '0.00002'),
        max_completion_tokens: 100,
        upstreams: [
          { provider: 'second', model: 'two', paid_prices: prices('0.000003', '0.000004') },
          { provider: 'upstream', model: 'two', priority: 2 },
        ],
        routing: { max_attempts: 2 },
      },
      three!,
      {
        ...four,
        upstreams: [
          { provider: 'upstream', model: 'four', limits: { requests_per_minute: 2 } },
          { provider: 'second', model: 'four', priority: 2, limits: { tokens_per_minute: 30 } },
        ],
      },
      {
        ...five,
        operations: ['chat', 'text_completion'],
        upstreams: [{ provider: 'upstream', model: 'five' }],
        defaults: { temperature: 0.7, max_tokens: 50, top_p: 0.9 },
      },
      {
        ...six,
        upstreams: [
          { provider: 'upstream', model: 'six', paid_prices: prices('0.000002', '0.000002') },
          { provider: 'second', model: 'six', paid_prices: prices('0.000001', '0.000001') },
        ],
        routing: { strategy: 'lowest_cost' },
      },
    ],
    stages: [
      'error-envelope',
      'auth',
      'validation',
      { 'model-access': { accounts: { tester: [large, mini, limited, usual, thrifty] }, others: ['*'] } },
      'rate-limit',
    ],
  } as unknown as GatewayConfig);
});
afterEach(() => {
  first.requests.length = 0;
  second.requests.length = 0;
});
afterAll(async () => {
  await endServed();
  await Promise.all([first?.close(), second?.close()]);
});

const post = (more: object = {}, path = '/v1/chat/completions', key = clientKey) =>
  fetch(sidecar.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(ask('Hello?', more)),
  });

/** The line in the log of the request that ended last. */
async function lineOf(reply: Response) {
  const id = reply.headers.get('x-request-id');
  const found = () => sidecar.lines.find(line => line.request_id === id && 'cost_usd' in line);
  await until(() => found() !== undefined);
  return found()!;
}

const tooLong = whole(400, {
  error: { message: "This model's maximum context length is 8 tokens.", code: 'context_length_exceeded' },
});
const answer = { ...completion('Water cuts.'), usage: used(10, 5).usage };
const stream = streamed(events(said('Water cuts.'), finished(), used(10, 5), '[DONE]'));

describe('a model with fallbacks', () => {
  it('is replaced by another for a prompt that is too long, which is named, billed and paid', async () => {
    first.reply(tooLong);
    second.reply(whole(200, answer));
    const reply = await post({ max_tokens: 4000, temperature: 0.2 });
    expect(await reply.json()).toMatchObject({
      model: mini,
      choices: [{ message: { content: 'Water cuts.' } }],
    });
    expect(second.last.body).toMatchObject({ model: 'two', max_tokens: 100, temperature: 0.2 });
    const line = await lineOf(reply);
    expect(line).toMatchObject({ model: mini, requested_model: large, end_reason: 'completed', status: 200 });
    expect(line).toMatchObject({ cost_usd: '0.0002', paid_usd: '0.00005', provider: 'second' });
    expect(line.attempts).toMatchObject([{ kind: 'refused' }, { outcome: 'completed' }]);
  });

  it.each([
    ['/v1/chat/completions', {}, (json: { model?: string }) => json.model],
    ['/v1/responses', { input: 'Hello?', messages: undefined }, responseModel],
    ['/v1/messages', { max_tokens: 20 }, messageModel],
  ] as const)('names the one that answers in streams of %s', async (path, more, modelOf) => {
    first.reply(tooLong);
    second.reply(stream);
    const reply = await post({ stream: true, ...more }, path);
    const named = eventsOf(await reply.text()).flatMap(({ json }) => modelOf(json as never) ?? []);
    expect([...new Set(named)]).toEqual([mini]);
    expect(first.requests).toHaveLength(1);
  });

  it.each([
    ['whole', false, whole(200, { ...filteredReply(), usage: used(8, 0).usage })],
    [
      'streamed',
      true,
      streamed(events(delta({ role: 'assistant' }), finished('content_filter'), used(8, 0), '[DONE]')),
    ],
  ])(
    'is replaced where a filter ends its %s reply, at a model that the account may use',
    async (_, isStream, reply) => {
      first.reply(reply);
      second.reply(isStream ? stream : whole(200, answer));
      const got = await post({ stream: isStream });
      expect(await got.text()).toContain('Water cuts.');
      expect(await lineOf(got)).toMatchObject({ model: mini, end_reason: 'completed' });
    },
  );

  it('pays for what the filtered reply has used, and bills the other alone', async () => {
    first.reply(whole(200, { ...filteredReply(), usage: used(8, 0).usage }));
    second.reply(whole(200, answer));
    const reply = await post();
    expect(await lineOf(reply)).toMatchObject({ cost_usd: '0.0002', paid_usd: '0.000058' });
  });

  it('passes on what a filter ends after the first word', async () => {
    first.reply(streamed(events(said('Well'), finished('content_filter'), used(8, 1), '[DONE]')));
    const text = await (await post({ stream: true })).text();
    expect(text).toContain('"finish_reason":"content_filter"');
    expect(second.requests).toEqual([]);
  });

  it('is replaced when none of its upstreams answers', async () => {
    first.reply(whole(503, { error: { message: 'overloaded' } }));
    second.reply(whole(200, answer));
    expect(await (await post()).json()).toMatchObject({ model: mini });
  });

  it('leaves the other model attempts of its own', async () => {
    first.reply(whole(200, answer));
    first.replyOnce(tooLong);
    second.reply(whole(503, {}));
    const reply = await post();
    expect(await lineOf(reply)).toMatchObject({ status: 200, model: mini, provider: 'upstream' });
    expect(first.last.body).toMatchObject({ model: 'two' });
  });

  it('is not begun where what is left of a hard limit is less than the dearest of them may cost', async () => {
    const refused = await post({ max_tokens: 2000 }, undefined, poor);
    expect(refused.status).toBe(429);
    expect(await refused.text()).toContain('at most ');
    first.reply(whole(200, answer));
    expect((await post({ max_tokens: 20 }, undefined, poor)).status).toBe(200);
    expect([first.requests.length, second.requests.length]).toEqual([1, 0]);
  });

  it('is not replaced by a model that has limits of its own for the account', async () => {
    first.reply(tooLong);
    expect((await post({}, undefined, limitedKey)).status).toBe(400);
    expect(second.requests).toEqual([]);
  });

  it('is not replaced for any other refusal, and asks each model once', async () => {
    first.reply(whole(400, { error: { message: 'temperature is wrong' } }));
    expect((await post()).status).toBe(400);
    expect(second.requests).toEqual([]);
    first.reply(tooLong);
    second.reply(tooLong);
    const reply = await post();
    expect([reply.status, first.requests.length, second.requests.length]).toEqual([400, 2, 1]);
    expect(await lineOf(reply)).toMatchObject({ end_reason: 'refused' });
  });
});

describe('an upstream with limits', () => {
  it('is left out at its limit, and none is asked above', async () => {
    first.reply(whole(200, answer));
    second.reply(whole(200, answer));
    const statuses: number[] = [];
    for (let at = 0; at < 5; at++) statuses.push((await post({ model: limited, max_tokens: 5 })).status);
    // The third goes on to the second, whose 30 tokens are used after two.
    expect([statuses, first.requests.length, second.requests.length]).toEqual([
      [200, 200, 200, 200, 429],
      2,
      2,
    ]);
    const refused = await post({ model: limited });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refused.json()).toMatchObject({ error: { type: 'rate_limit_error' } });
    expect(await lineOf(refused)).toMatchObject({ end_reason: 'refused', attempts: [] });
  });
});

describe('the strategy lowest_cost', () => {
  it('asks the cheapest upstream, and the next when it fails', async () => {
    first.reply(whole(200, answer));
    second.reply(whole(200, answer));
    for (let at = 0; at < 8; at++) await (await post({ model: thrifty })).text();
    expect([first.requests.length, second.requests.length]).toEqual([0, 8]);
    second.reply(whole(503, {}));
    const reply = await post({ model: thrifty });
    expect(reply.status).toBe(200);
    expect(await lineOf(reply)).toMatchObject({ provider: 'upstream', paid_usd: '0.00003' });
  });
});

describe('the defaults of a model', () => {
  it.each([
    ['/v1/chat/completions', {}, 50],
    ['/v1/responses', { input: 'Hello?', messages: undefined }, 50],
    ['/v1/messages', { max_tokens: 20 }, 20],
    ['/v1/completions', { prompt: 'Hello?', messages: undefined }, 16],
  ])('are sent to the provider where a request to %s has none', async (path, more, max_tokens) => {
    first.reply(whole(200, answer));
    const sent = async (asked: object) => {
      await (await post({ model: usual, ...more, ...asked }, path)).text();
      return first.last.body;
    };
    expect(await sent({})).toMatchObject({ temperature: 0.7, top_p: 0.9, max_tokens });
    expect(await sent({ temperature: 0.1 })).toMatchObject({ temperature: 0.1, top_p: 0.9 });
  });
});

function filteredReply() {
  const [choice] = completion('').choices;
  return { ...completion(''), choices: [{ ...choice, finish_reason: 'content_filter' }] };
}

function responseModel({ response }: { response?: { model: string } }) {
  return response?.model;
}

function messageModel({ message }: { message?: { model: string } }) {
  return message?.model;
}
