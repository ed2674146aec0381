import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import type { Model } from '../../../../../src/gateway/catalog/catalog.ts';
import type { ChatRequest, Chunk, Completion } from '../../../../../src/gateway/exchange/canonical.ts';
import { usageOf } from '../../../../../src/gateway/exchange/canonical.ts';
import { refusal } from '../../../../../src/gateway/exchange/errors.ts';
import { meteredReply, meterFailure } from '../../../../../src/gateway/settlement/stream-meter.ts';
import { Metrics } from '../../../../../src/telemetry/metrics.ts';
import { capturedLog } from '../../../../support/captured-log.ts';
import { chunkOf, collected, meteredStream, streamOf } from '../../../chunk-stream.ts';
import { sampleExchange } from '../../../sample-exchange.ts';

const metrics = () => new Metrics(new Registry());
/** Text of so many tokens, as they are estimated: short words, each one with the space beside it (up to 28 the rounding hides the rest). */
const tokens = (count: number) => 'word '.repeat(count);
const says = (count: number, usage?: Chunk['usage']): Chunk => ({
  ...chunkOf({ content: tokens(count) }),
  ...(usage && { usage }),
});
const tells = (prompt: number, completion: number, cached = 0): Chunk => ({
  choices: [],
  usage: usageOf(prompt, completion, cached),
});
/** One message of ten words: 10 tokens and four for its frame. */
const prompt: Partial<ChatRequest> = { stream: true, messages: [{ role: 'user', content: tokens(10) }] };
const prompt_tokens = 14;
/** Usage as it is billed: estimated here, or told by the upstream. */
const estimated = (prompt_tokens: number, completion_tokens: number) => ({
  ...{ prompt_tokens, completion_tokens, estimated: true },
});
const told = (prompt_tokens: number, completion_tokens: number, cached_tokens = 0) => ({
  ...{ prompt_tokens, completion_tokens, cached_tokens, estimated: false },
});
const reply = (content: string, usage?: Completion['usage']): Completion => ({
  choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
  ...(usage && { usage }),
});
const continuous: Partial<ChatRequest> = { ...prompt, stream_options: { continuous_usage_stats: true } };

/** The running completion tokens after each chunk, and the exchange at the end. */
async function running(chunks: readonly Chunk[], request = prompt) {
  const exchange = sampleExchange({ request });
  const completions: number[] = [];
  for await (const _ of meteredStream(exchange, streamOf(chunks), metrics()))
    completions.push(exchange.usage.completion_tokens);
  return { completions, usage: exchange.usage, exchange };
}

describe('the usage of a stream', () => {
  it('is estimated while the upstream reports none', async () => {
    const { completions, usage } = await running([says(3), says(2)]);
    expect(completions).toEqual([3, 5]);
    expect(usage).toMatchObject({ ...estimated(prompt_tokens, 5), cached_tokens: 0 });
  });

  it('counts reasoning, text and tool calls alike', async () => {
    const call = { index: 0, function: { name: 'word', arguments: ` ${tokens(2)}` } };
    const { completions } = await running([
      chunkOf({ reasoning: tokens(3) }),
      chunkOf({ content: tokens(1) }),
      chunkOf({ tool_calls: [call] }),
      chunkOf({}, 'tool_calls'),
    ]);
    expect(completions).toEqual([3, 4, 7, 7]);
  });

  it('prefers the running usage of the upstream to estimates', async () => {
    const { completions, usage } = await running([says(3, usageOf(9, 1)), says(3, usageOf(9, 2, 4))]);
    expect(completions).toEqual([1, 2]);
    expect(usage).toMatchObject(told(9, 2, 4));
  });

  it('adds estimates to the last usage of the upstream', async () => {
    const { completions, usage } = await running([says(3), says(1, usageOf(9, 20)), says(2), says(2)]);
    expect(completions).toEqual([3, 20, 22, 24]);
    expect(usage.estimated).toBe(true);
  });

  it('is replaced by the final usage, higher or lower', async () => {
    for (const final of [2, 50]) {
      const { usage } = await running([says(10), tells(9, final, 4)]);
      expect(usage).toMatchObject(told(9, final, 4));
    }
  });

  it('is never estimated above max_tokens per choice', async () => {
    for (const [chunks, n, expected] of [
      [[says(3), says(30)], 1, [3, 8]],
      [[says(30)], 2, [16]],
      [[says(30), tells(9, 12)], 1, [8, 12]],
    ] as const)
      expect((await running(chunks, { ...prompt, max_tokens: 8, n })).completions).toEqual(expected);
  });

  it('includes the prompt from the start where running usage was requested', async () => {
    for (const [request, expected] of [
      [continuous, prompt_tokens],
      [prompt, 0],
    ] as const) {
      const exchange = sampleExchange({ request });
      const stream = meteredStream(exchange, streamOf([chunkOf({ role: 'assistant' })]), metrics());
      await stream.next();
      expect(exchange.usage.prompt_tokens).toBe(expected);
      await stream.return();
      expect(exchange.usage.prompt_tokens).toBe(prompt_tokens);
    }
  });

  it('has the time of the first text, which is not that of the role', async () => {
    let now_ms = 5;
    const clock = { epoch_ms: () => 0, elapsed_ms: () => now_ms };
    const exchange = sampleExchange({ request: prompt, start: { clock } });
    const given = [
      chunkOf({ role: 'assistant', content: '' }),
      chunkOf({ reasoning: 'a' }),
      chunkOf({ content: 'b' }),
    ];
    for await (const _ of meteredStream(exchange, streamOf(given), metrics())) now_ms += 10;
    expect(exchange.first_token_ms).toBe(15);
  });
});

describe('usage of an upstream that cannot be', () => {
  const model = { context_length: 1000 };
  const registry = new Registry();
  const counting = new Metrics(registry);
  const { log, lines } = capturedLog();
  const asked = (request: Partial<ChatRequest>, chosen: Partial<Model> | null = model) => {
    const exchange = sampleExchange({ request, ...(chosen && { model: chosen }), start: { log } });
    exchange.beginAttempt({ provider: 'gpu' });
    return exchange;
  };
  const counted = async () =>
    (await registry.getSingleMetric('sluice_usage_bounded_total')!.get()).values.map(({ value }) => value);
  const huge = usageOf(1e12, 1e12, 1e12, { reasoning_tokens: 1e12 }, 1e12);

  it('is billed as the window of the prompt and of each choice, which is logged and counted once', async () => {
    const exchange = asked({ ...continuous, n: 2 });
    const chunks = [says(1, huge), says(1, huge), { choices: [], usage: huge }];
    await collected(meteredStream(exchange, streamOf(chunks), counting));
    const bounded = { prompt_tokens: 1000, completion_tokens: 2000, cached_tokens: 1000 };
    expect(exchange.usage).toMatchObject({ ...bounded, completion_details: { reasoning_tokens: 2000 } });
    expect(exchange.usage.cache_creation_tokens).toBe(0);
    expect(await counted()).toEqual([1]);
    const msg = expect.stringMatching(/^usage_bounded/);
    expect(lines).toMatchObject([{ msg, provider: 'gpu', context_length: 1000, prompt_tokens: 1e12 }]);
  });

  it('is bounded in a whole reply as its client is shown it', async () => {
    const exchange = asked({ stream: false });
    const shown = meteredReply(exchange, reply('Yes.', huge), counting);
    expect(shown.usage).toMatchObject({ prompt_tokens: 1000, completion_tokens: 1000, total_tokens: 2000 });
    expect(await counted()).toEqual([2]);
  });

  it('is bounded by the largest window known for a model outside the catalog', async () => {
    const exchange = asked(prompt, null);
    await collected(meteredStream(exchange, streamOf([{ choices: [], usage: huge }]), counting));
    expect(exchange.usage).toMatchObject({ prompt_tokens: 1e7, completion_tokens: 1e7 });
  });

  it.each([
    ['nothing at all', tells(0, 0), prompt_tokens],
    ['a prompt alone', tells(9, 0, 4), 9],
  ])('is estimated where text came with a usage of %s', async (_, usage_told, expected) => {
    const usage = usage_told.usage!;
    for (const chunks of [[says(5), usage_told], [{ ...says(5), usage }]]) {
      const exchange = asked(prompt);
      await collected(meteredStream(exchange, streamOf(chunks), metrics()));
      expect(exchange.usage).toMatchObject(estimated(expected, 5));
    }
    const whole = reply(tokens(5), usage);
    const shown = meteredReply(asked({ ...prompt, stream: false }), whole, metrics());
    expect(shown.usage).toMatchObject({ prompt_tokens: expected, completion_tokens: 5 });
  });

  it('is believed where it counts a prompt and no text came', async () => {
    const exchange = asked(prompt);
    await collected(meteredStream(exchange, streamOf([chunkOf({}), tells(9, 0)]), metrics()));
    expect(exchange.usage).toMatchObject(told(9, 0));
  });
});

describe('an exchange that ends early', () => {
  const broken = new Error('reset');

  it('is billed for what had come when the upstream broke off', async () => {
    const exchange = sampleExchange({ request: prompt });
    const { fault } = await collected(meteredStream(exchange, streamOf([says(3)], broken), metrics()));
    expect(fault).toBe(broken);
    expect(exchange.usage).toMatchObject(estimated(prompt_tokens, 3));
  });

  it('is billed for what had come when the client left, and closes the upstream', async () => {
    let closed = false;
    async function* upstream() {
      try {
        yield says(3);
        yield says(3);
      } finally {
        closed = true;
      }
    }
    const exchange = sampleExchange({ request: prompt });
    for await (const _ of meteredStream(exchange, upstream(), metrics())) break;
    expect(closed).toBe(true);
    expect(exchange.usage).toMatchObject(estimated(prompt_tokens, 3));
  });

  it('costs nothing when the upstream failed before its reply', async () => {
    const exchange = sampleExchange({ request: continuous });
    exchange.beginAttempt();
    await collected(meteredStream(exchange, streamOf([], broken), metrics()));
    expect(exchange.usage).toMatchObject({ prompt_tokens: 0, completion_tokens: 0 });
  });

  it('is billed for the prompt when the client left while the upstream worked on it', async () => {
    const exchange = sampleExchange({ request: prompt });
    exchange.beginAttempt();
    exchange.end.clientLeft();
    await collected(meteredStream(exchange, streamOf([], broken), metrics()));
    expect(exchange.usage).toMatchObject(estimated(prompt_tokens, 0));
  });
});

describe('a whole reply', () => {
  const settled = (given: Completion, request = prompt) => {
    const exchange = sampleExchange({ request });
    const shown = meteredReply(exchange, given, metrics());
    return { shown: shown.usage, usage: exchange.usage };
  };

  it('has the usage of the upstream with its breakdown', () => {
    const usage = usageOf(9, 7, 4, { reasoning_tokens: 5 });
    expect(settled(reply('Yes.', usage))).toMatchObject({
      shown: usage,
      usage: { estimated: false },
    });
  });

  it('has estimated usage where the upstream reports none, and is billed by it', () => {
    const { shown, usage } = settled(reply(tokens(20)), { ...prompt, max_tokens: 8 });
    expect(shown).toEqual(usageOf(prompt_tokens, 8));
    expect(usage).toMatchObject(estimated(prompt_tokens, 8));
  });

  it.each([
    ['its prompt where the gateway gave it up', 'server_error', prompt_tokens],
    ['nothing where the upstream failed', 'provider_unreachable', 0],
  ] as const)('costs %s after its client had left', (_, code, expected) => {
    const exchange = sampleExchange({ request: prompt });
    exchange.beginAttempt();
    exchange.end.clientLeft();
    meterFailure(exchange, refusal(code), metrics());
    expect(exchange.usage).toMatchObject(estimated(expected, 0));
  });

  it('costs nothing when it failed', () => {
    const exchange = sampleExchange({ request: prompt });
    meterFailure(exchange, new Error('reset'), metrics());
    expect(exchange.usage).toMatchObject({ prompt_tokens: 0, completion_tokens: 0 });
  });
});

describe('the error of estimates', () => {
  it('is measured where the upstream reports usage at the end', async () => {
    const registry = new Registry();
    const counting = new Metrics(registry);
    const exchange = sampleExchange({ request: prompt, model: {} });
    await collected(meteredStream(exchange, streamOf([says(9), tells(9, 10)]), counting));
    const told = sampleExchange({ request: prompt, model: {} });
    await collected(meteredStream(told, streamOf([says(9, usageOf(9, 10)), tells(9, 10)]), counting));
    const lines = (await registry.getSingleMetricAsString('sluice_usage_estimate_error_ratio')).split('\n');
    const series = `sluice_usage_estimate_error_ratio_%s{gen_ai_request_model="${exchange.model!.id}"}`;
    expect(lines).toContain(`${series.replace('%s', 'count')} 1`);
    expect(lines).toContain(`${series.replace('%s', 'sum')} 0.9`);
  });
});

describe('an upstream that starts another choice with every chunk', () => {
  it('has each choice counted, at the same cost however many there are', async () => {
    const exchange = sampleExchange({ request: prompt });
    let looks = 0;
    const newCounter = () => {
      let counted = 0;
      return {
        add: () => void counted++,
        get tokens() {
          looks++;
          return counted;
        },
      };
    };
    const chunks = Array.from({ length: 1000 }, (_, index) => ({
      choices: [{ index, delta: { content: 'word' }, finish_reason: null }],
    }));
    for await (const _ of meteredStream(exchange, streamOf(chunks), metrics(), newCounter));
    expect(exchange.usage.completion_tokens).toBe(1000);
    expect(looks).toBeLessThan(5 * chunks.length);
  });
});
