import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  dearestOf,
  estimatePromptTokens,
  expectedUse,
  fittingMaxTokens,
  mostUse,
} from '../../../../../plugins/stages/rate-limit/request-charge.ts';
import { UsageAverage } from '../../../../../plugins/stages/rate-limit/usage-forecast.ts';
import { usdOf } from '../../../../../src/common/money.ts';
import type { Model } from '../../../../../src/gateway/catalog/catalog.ts';
import type { ChatRequest } from '../../../../../src/gateway/exchange/canonical.ts';
import { estimatePrompt } from '../../../../../src/gateway/settlement/usage-meter.ts';
import { sampleModel, sampleRequest } from '../../../sample-exchange.ts';

const asking = (content: string) => sampleRequest({ messages: [{ role: 'user', content }] });

describe('estimatePromptTokens', () => {
  it.each([
    ['English', 'The quick brown fox jumps over the lazy dog, and nobody in the village knows why it does. '],
    ['Russian', 'Быстрая коричневая лиса прыгает через ленивую собаку, и никто в деревне не знает почему. '],
    ['Chinese', '敏捷的棕色狐狸跳过了懒狗,村子里没有人知道它为什么要这样做。'],
    ['code', 'const total = items.map(item => item.price * item.count).reduce((a, b) => a + b, 0);\n'],
  ])('is within a factor of two of the word-based estimate for %s', (_, text) => {
    const request = asking(text.repeat(40));
    const ratio = estimatePromptTokens(request) / estimatePrompt(request);
    expect(ratio).toBeGreaterThan(0.5);
    expect(ratio).toBeLessThan(2);
  });

  it('counts parts, tool calls and tools', () => {
    const base = estimatePromptTokens(asking('Hello'));
    const long = 'a long text indeed '.repeat(50);
    const requests: Partial<ChatRequest>[] = [
      { messages: [{ role: 'user', content: [{ type: 'text', text: long }] }] },
      {
        messages: [
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: long } }],
          },
        ],
      },
      { tools: [{ type: 'function', function: { name: 'f', description: long } }] },
    ];
    for (const request of requests)
      expect(estimatePromptTokens(sampleRequest(request))).toBeGreaterThan(base + 200);
  });
});

it('prices a request as the dearest of the models that may answer it, in every part', () => {
  const price = fc.nat({ max: 1_000_000_000 }).map(units => usdOf(BigInt(units)));
  const priced = fc.record({
    pricing: fc.record(
      { prompt: price, completion: price, input_cache_write: price, request: price },
      { requiredKeys: ['prompt', 'completion'] },
    ),
    max_completion_tokens: fc.integer({ min: 1, max: 9000 }),
    context_length: fc.integer({ min: 1, max: 9000 }),
  });
  const money = { countsTokens: true, countsMoney: true };
  const average = new UsageAverage(500);
  fc.assert(
    fc.property(fc.array(priced, { minLength: 1, maxLength: 4 }), fc.nat({ max: 9000 }), (list, prompt) => {
      const models = list.map(changes => sampleModel(changes)) as [Model, ...Model[]];
      const request = asking('x');
      const use = (model: Model) => {
        const expected = { request, model, average };
        return expectedUse(money, prompt, expected, mostUse(prompt, expected));
      };
      const dearest = use(dearestOf(models));
      for (const { nano_usd, ceiling } of models.map(use)) {
        expect(dearest.nano_usd).toBeGreaterThanOrEqual(nano_usd);
        expect(dearest.ceiling!.nano_usd).toBeGreaterThanOrEqual(ceiling!.nano_usd);
        expect(dearest.ceiling!.tokens).toBeGreaterThanOrEqual(ceiling!.tokens);
      }
    }),
  );
});

describe('the expected use of an exchange', () => {
  const all = { limits: [], countsTokens: true, countsMoney: true };
  const model = sampleModel({ max_completion_tokens: 4000 });
  const use = (request: Partial<ChatRequest>, average = new UsageAverage(500), estimated_prompt = 100) =>
    expectedUse(all, estimated_prompt, { request: sampleRequest(request), model, average });
  const habitOf = (completion: number) => {
    const average = new UsageAverage(500);
    for (let at = 0; at < 200; at++)
      average.learn({ estimated_prompt: 100, prompt: 120, completion, choices: 1, isCut: false });
    return average;
  };

  it('is the prompt plus the configured completion before one is known', () => {
    expect(use({})).toMatchObject({ requests: 1, tokens: 600 });
  });

  it('follows recent completions, and prompts as the upstream counts them', () => {
    expect(use({}, habitOf(200)).tokens).toBe(120 + 200);
  });

  it('is capped by max_tokens but never raised to it', () => {
    expect(use({ max_tokens: 3000 }, habitOf(200)).tokens).toBe(320);
    expect(use({ max_tokens: 30 }, habitOf(200)).tokens).toBe(150);
    expect(use({ max_tokens: 30, n: 3 }, habitOf(200)).tokens).toBe(210);
    expect(use({}, habitOf(9000)).tokens).toBe(4120);
  });

  it('is priced by the catalog', () => {
    // 100 × 0.000003 + 500 × 0.000006 dollars.
    expect(use({}).nano_usd).toBe(3_300_000);
  });

  it('is the decimal that the prices make, not what floating-point numbers add up to', () => {
    const priced = { ...model, pricing: { prompt: '0.002', completion: '0.01' } };
    const expected = {
      request: sampleRequest({ max_tokens: 9 }),
      model: priced,
      average: new UsageAverage(500),
    };
    const set = { countsTokens: true, countsMoney: true };
    // 0.2 + 0.09 is 0.29000000000000004.
    expect(expectedUse(set, 100, expected).nano_usd).toBe(290_000_000);
  });

  it('is not computed when no limit needs it', () => {
    const limits = { limits: [], countsTokens: false, countsMoney: false };
    const expected = { request: sampleRequest(), model, average: new UsageAverage(500) };
    expect(expectedUse(limits, 100, expected)).toEqual({ requests: 1, tokens: 0, nano_usd: 0 });
  });
});

describe('the most that an exchange may use', () => {
  const model = sampleModel({ max_completion_tokens: 4000, context_length: 10_000 });
  const average = new UsageAverage(500);
  const ceiling = (request: Partial<ChatRequest>, of = model) => {
    const expected = { request: sampleRequest(request), model: of, average };
    const set = { countsTokens: true, countsMoney: true };
    return expectedUse(set, 100, expected, mostUse(100, expected)).ceiling!;
  };

  it('is a generous prompt and max_tokens, else the maximum of the model, for each choice', () => {
    expect(ceiling({}).tokens).toBe(264 + 4000);
    expect(ceiling({ max_tokens: 300 }).tokens).toBe(264 + 300);
    expect(ceiling({ max_tokens: 9000 }).tokens).toBe(264 + 4000);
    expect(ceiling({ max_tokens: 300, n: 3 }).tokens).toBe(264 + 900);
    expect(ceiling({ max_tokens: 300 }, { ...model, context_length: 200 }).tokens).toBe(500);
  });

  it('is a window for each input of another operation, and the price of a call', () => {
    const inputs = [1, 2].map(() => ({ role: 'user' as const, content: 'One' }));
    const operation = {
      name: 'embeddings',
      encode: () => ({ path: '/', body: {} }),
      decodeReply: () => ({ choices: [] }),
    };
    const asked = { messages: inputs, operation, max_tokens: 0 };
    const pricing = { prompt: '0.000001', completion: '0', request: '0.01' };
    expect(ceiling(asked, { ...model, context_length: 100, pricing })).toEqual({
      tokens: 200,
      nano_usd: 10_200_000,
    });
  });

  it('is priced by the catalog, the prompt also at the price of writing it to a cache', () => {
    // 264 × 0.000003 + 600 × 0.000006 dollars.
    expect(ceiling({ max_tokens: 300, n: 2 }).nano_usd).toBe(4_392_000);
    const pricing = { ...model.pricing, input_cache_write: '0.000004' };
    expect(ceiling({ max_tokens: 300 }, { ...model, pricing }).nano_usd).toBe(2_856_000);
  });

  it('says which max_tokens would fit into what is left', () => {
    const most = { prompt: 100, completion: 2000, choices: 2 };
    expect(fittingMaxTokens({ name: 'tokens_per_day', max: 5000 }, 1000, most, model)).toBe(450);
    // 100 × 0.000003 dollars are the prompt's; 0.000012 is a token of both choices.
    expect(fittingMaxTokens({ name: 'usd_per_month', max: 1e9 }, 1_500_000, most, model)).toBe(100);
    expect(fittingMaxTokens({ name: 'tokens_per_day', max: 5000 }, 50, most, model)).toBeLessThan(1);
  });
});
