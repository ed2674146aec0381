import { afterEach, describe, expect, it } from '@jest/globals';
import { type Answer, type Chunk, type Completion, refusal, usageOf } from '../../src/plugin.ts';
import { answeringChain, answeringGateway } from '../support/answering.ts';
import { post } from '../support/chain-app.ts';
import { requestOf } from '../support/chain-connection.ts';
import { alongside, closeApps } from '../support/express-app.ts';
import { ask, type ClientJson, eventsOf } from '../support/gateway-under-test.ts';
import { RawConnection } from '../support/raw-client.ts';
import { until } from '../support/until.ts';

afterEach(closeApps);

const usage = usageOf(7, 5);
const reply: Completion = {
  choices: [{ index: 0, message: { role: 'assistant', content: 'From the cache.' }, finish_reason: 'stop' }],
  usage,
};
const said = (content: string): Chunk => ({
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
});
const ended: Chunk = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
const chunks: readonly Chunk[] = [
  { choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }] },
  said('From '),
  said('the cache.'),
  { ...ended, usage },
];
async function* streamed(parts: readonly Chunk[] = chunks) {
  for (const part of parts) yield structuredClone(part);
}
const never = new Promise<never>(() => {});
const contentOf = (all: readonly { json: ClientJson }[]) =>
  all.map(({ json }) => json.choices?.[0]?.delta?.content ?? '').join('');

describe.each([
  ['createGateway', answeringGateway],
  ['createChain', answeringChain],
] as const)('an answering stage of %s', (_, start) => {
  const chat = (url: string, more: object = {}) => post(`${url}/v1/chat/completions`, ask('Hello?', more));

  it('sends its reply to the client and skips later stages and the upstream', async () => {
    const { url, asked, outcomes } = await start(() => structuredClone(reply));
    // The validation behind it would refuse this.
    const response = await chat(url, { reasoning_effort: 'medium' });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      object: 'chat.completion',
      model: 'aion-labs/aion-3.5',
      choices: reply.choices,
      usage,
    });
    await until(() => outcomes().length === 1);
    expect(asked()).toBe(0);
    expect(outcomes()).toMatchObject([
      {
        status: 200,
        end_reason: 'completed',
        account: 'tester',
        model: 'aion-labs/aion-3.5',
        provider: undefined,
        usage: { prompt_tokens: 7, completion_tokens: 5, estimated: false },
        cost_usd: '0.000051',
      },
    ]);
  });

  it.each([
    ['a reply', (usage: object) => ({ ...structuredClone(reply), usage }) as Completion],
    ['a stream', (usage: object) => streamed([...chunks.slice(0, 3), { ...ended, usage } as Chunk])],
  ])('bills the usage of %s as it is, also where that is 0', async (_, answer) => {
    const { url, outcomes } = await start(() => answer(usageOf(0, 0)));
    for (const stream of [false, true]) {
      const text = await (await chat(url, { stream })).text();
      expect(text).toContain('"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0');
    }
    await until(() => outcomes().length === 2);
    for (const { usage, cost_usd } of outcomes())
      expect({ ...usage, cost_usd }).toMatchObject({ prompt_tokens: 0, completion_tokens: 0, cost_usd: '0' });
  });

  it.each([
    ['a reply', () => structuredClone(reply)],
    ['a stream', () => streamed()],
    ['a list of chunks', () => structuredClone(chunks)],
    [
      'a stream that repeats its choice behind the end',
      () => streamed([...chunks.slice(0, 3), ended, { ...said(''), usage }]),
    ],
  ])('answers streaming clients and others when it returns %s', async (_, answer) => {
    const { url, asked, outcomes } = await start(answer);
    const response = await chat(url, { stream: true });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const events = eventsOf(await response.text());
    const [first, last, done] = [events[0], events.at(-2), events.at(-1)];
    expect(first?.json.choices?.[0]?.delta).toMatchObject({ role: 'assistant' });
    expect(contentOf(events)).toBe('From the cache.');
    expect(last?.json).toMatchObject({ choices: [{ finish_reason: 'stop' }], usage });
    expect(done?.data).toBe('[DONE]');
    const whole = (await (await chat(url)).json()) as Completion;
    expect(whole).toMatchObject({ choices: [{ message: { content: 'From the cache.' } }], usage });
    await until(() => outcomes().length === 2);
    expect(asked()).toBe(0);
    const settled = { status: 200, end_reason: 'completed', usage: { completion_tokens: 5 } };
    expect(outcomes()).toMatchObject([settled, settled]);
  });

  it('streams a long reply in many events', async () => {
    const content = 'word '.repeat(200_000);
    const message = { role: 'assistant' as const, content };
    const { url } = await start(() => ({
      choices: [{ index: 0, message, finish_reason: 'stop' as const }],
      usage,
    }));
    const events = eventsOf(await (await chat(url, { stream: true })).text());
    expect([contentOf(events) === content, events.length > 50]).toEqual([true, true]);
    expect(events.at(-2)?.json).toMatchObject({ choices: [{ finish_reason: 'stop' }], usage });
  });

  it('is billed by estimate when its answer has no usage', async () => {
    const { url, outcomes } = await start(({ request: { stream } }) =>
      stream ? streamed([...chunks.slice(0, -1), ended]) : { choices: structuredClone(reply.choices) },
    );
    for (const stream of [true, false]) await (await chat(url, { stream })).text();
    await until(() => outcomes().length === 2);
    for (const { usage: billed } of outcomes()) {
      expect(billed.estimated).toBe(true);
      expect(Math.min(billed.prompt_tokens, billed.completion_tokens)).toBeGreaterThan(0);
    }
  });

  it('leaves the request to the upstream when it returns nothing', async () => {
    const { url, asked } = await start(async () => undefined);
    expect((await chat(url)).status).toBe(200);
    expect(asked()).toBe(1);
  });

  it("holds the account's limits until its answer has ended", async () => {
    let release = () => {};
    const { url, outcomes } = await start(async function* () {
      yield chunks[0]!;
      await new Promise<void>(resolve => (release = resolve));
      yield* streamed(chunks.slice(1));
    });
    const first = await chat(url, { stream: true });
    const second = await chat(url, { stream: true });
    expect((await chat(url, { stream: true })).status).toBe(429);
    const releaseSecond = release;
    releaseSecond();
    await second.text();
    await until(() => outcomes().length === 2);
    await first.body?.cancel();
    await until(() => outcomes().length === 3);
    expect(outcomes().map(({ end_reason }) => end_reason)).toEqual(['refused', 'completed', 'client_gone']);
  });

  it.each([true, false])(
    'sends an error status when it throws before its first chunk (stream: %s)',
    async stream => {
      const { url, outcomes } = await start(() =>
        // biome-ignore lint/correctness/useYield: it fails first
        (async function* () {
          throw refusal('rate_limited', { message: 'Not now.' });
        })(),
      );
      const response = await chat(url, { stream });
      expect([response.status, await response.json()]).toEqual([
        429,
        { error: { type: 'rate_limit_error', message: 'Not now.' } },
      ]);
      await until(() => outcomes().length === 1);
      expect(outcomes()).toMatchObject([{ end_reason: 'refused', usage: { completion_tokens: 0 } }]);
    },
  );

  it.each<[string, () => AsyncGenerator<Chunk>]>([
    [
      'throws',
      async function* () {
        yield* streamed(chunks.slice(0, 2));
        throw new Error('the cache is broken');
      },
    ],
    ['ends without a finish_reason', () => streamed(chunks.slice(0, 2))],
    [
      'ends without the finish_reason of its second choice',
      () =>
        streamed([
          ...chunks.slice(0, 3),
          { choices: [{ index: 1, delta: { content: 'Second.' }, finish_reason: null }] },
          ended,
        ]),
    ],
  ])('sends an error event, or no reply, when it %s in the middle', async (_, answer) => {
    const { url, outcomes } = await start(answer);
    const events = eventsOf(await (await chat(url, { stream: true })).text());
    expect(events.at(-2)?.json.error?.type).toBe('server_error');
    expect(events.at(-1)?.data).toBe('[DONE]');
    expect((await chat(url)).status).toBe(502);
    await until(() => outcomes().length === 2);
    expect(outcomes()).toMatchObject([{ end_reason: 'internal_error' }, { end_reason: 'internal_error' }]);
  });

  it.each([true, false])(
    'is abandoned when the client leaves, whatever it waits for (stream: %s)',
    async stream => {
      let isWaiting = false;
      let isClosed = false;
      const { url, asked, outcomes } = await start(() => {
        const parts = streamed(chunks.slice(0, 2));
        const next = async () => {
          const part = await parts.next();
          isWaiting = part.done === true;
          return isWaiting ? never : part;
        };
        // Not a generator, which could be closed only once what it waits for has settled.
        const close = async () => {
          isClosed = true;
          return { done: true as const, value: undefined };
        };
        return { [Symbol.asyncIterator]: () => ({ next, return: close }) };
      });
      const connection = new RawConnection(url);
      alongside({ close: () => connection.destroy() });
      connection.write(requestOf(ask('Hello?', { stream })));
      await until(() => isWaiting);
      connection.destroy();
      await until(() => outcomes().length === 1);
      expect(outcomes()).toMatchObject([{ end_reason: 'client_gone' }]);
      await until(() => isClosed);
      expect(asked()).toBe(0);
    },
  );

  it('gets 524 when it is too slow and is aborted after max_background_ms', async () => {
    const { url, outcomes } = await start(
      async function* () {
        yield chunks[0]!;
        await never;
      },
      { non_stream_timeout_ms: 50, max_background_ms: 50 },
    );
    expect((await chat(url)).status).toBe(524);
    await until(() => outcomes().length === 1);
    expect(outcomes()).toMatchObject([{ end_reason: 'background_aborted', status: 524 }]);
  });
});

describe.each([
  ['createGateway', answeringGateway],
  ['createChain', answeringChain],
] as const)('an answer that cannot be meant, of a stage of %s', (_, start) => {
  const choice = reply.choices[0]!;
  const figures = (prompt_tokens: unknown, completion_tokens: unknown, more: object = {}) => ({
    ...usageOf(prompt_tokens as number, completion_tokens as number),
    ...more,
  });
  const bills = (usage: object) => [
    () => ({ ...structuredClone(reply), usage }),
    () => streamed([...chunks.slice(0, 3), { ...ended, usage } as Chunk]),
  ];

  it.each<[string, (() => unknown)[]]>([
    ['usage with fractions', bills(figures(1.5, 4.3))],
    ['incomplete usage', bills({ prompt_tokens: 3 })],
    ['no choices', [() => ({ choices: [], usage })]],
    ['no finish_reason', [() => ({ choices: [{ ...choice, finish_reason: undefined }] })]],
    ["a provider's finish_reason", [() => ({ choices: [{ ...choice, finish_reason: 'end_turn' }] })]],
    ['a string among its chunks', [() => ['From the cache.']]],
    ['a chunk without finish_reason', [() => [{ choices: [{ index: 0, delta: { content: 'Hi' } }] }]]],
  ])('fails the request and holds nothing of the account: %s', async (_, answers) => {
    let answer: () => unknown = () => undefined;
    const { url, outcomes } = await start(() => answer() as Answer);
    const chat = (more: object) => post(`${url}/v1/chat/completions`, ask('Hello?', more));
    for (answer of answers)
      for (const stream of [false, true]) {
        const response = await chat({ stream });
        const text = await response.text();
        expect(text).toContain('"type":"server_error"');
        if (!stream) expect(response.status).toBe(502);
      }
    await until(() => outcomes().length === 2 * answers.length);
    for (const { end_reason, usage } of outcomes()) {
      expect(end_reason).toBe('internal_error');
      expect(Number.isInteger(usage.prompt_tokens + usage.completion_tokens)).toBe(true);
    }
    // The plan has two places.
    answer = () => structuredClone(reply);
    const replies = await Promise.all([chat({}), chat({})]);
    expect(replies.map(({ status }) => status)).toEqual([200, 200]);
  });
});
