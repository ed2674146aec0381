import { afterEach, describe, expect, it } from '@jest/globals';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import type { Usage } from '../../src/gateway/exchange/canonical.ts';
import { type ClientEvent, eventsOf, type GatewayUnderTest } from '../support/gateway-under-test.ts';
import { delta, used } from '../support/hostile-setting.ts';
import { events, streamed } from '../support/scripted-upstream.ts';
import { type Asked, closeBalanced, openBooks } from '../support/settlement.ts';
import {
  expectBilled,
  expectNear,
  type UsageKind,
  usageKinds,
  wholeStreamOf,
} from '../support/settlement-answer.ts';

afterEach(closeBalanced);

const continuous = { stream: true, stream_options: { continuous_usage_stats: true } };

/** The chunks that the client has received, without `[DONE]`. */
async function chunksOf({ connection }: Asked): Promise<ClientEvent[]> {
  await connection.received(/\r\n0\r\n\r\n$/);
  const body = connection.text.slice(connection.text.indexOf('\r\n\r\n') + 4, -2);
  // Without the sizes of chunked transfer encoding, which stand on lines of their own.
  return eventsOf(body.replaceAll(/(?:\r\n|^)[\da-f]+\r\n/g, '')).slice(0, -1);
}

const usagesOf = (chunks: readonly ClientEvent[]): Usage[] => chunks.map(({ json }) => json.usage as Usage);
const completions = (usages: readonly Usage[]): number[] => usages.map(usage => usage.completion_tokens);
const sorted = (numbers: readonly number[]): number[] => numbers.toSorted((a, b) => a - b);

/** What every chunk promises: the same four keys, a total that adds up, the role first with nothing generated. */
function expectRunning(usages: readonly Usage[]): void {
  for (const usage of usages) {
    const { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details } = usage;
    expect(usage).toEqual({ prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details });
    expect(Object.keys(prompt_tokens_details)).toEqual(['cached_tokens']);
    for (const count of [prompt_tokens, completion_tokens, prompt_tokens_details.cached_tokens])
      expect(Number.isSafeInteger(count)).toBe(true);
    expect(total_tokens).toBe(prompt_tokens + completion_tokens);
    expect(prompt_tokens).toBeGreaterThan(0);
  }
  const running = usages.slice(0, -1);
  expect(running[0]?.completion_tokens).toBe(0);
  expect(completions(running)).toEqual(sorted(completions(running)));
  expect(running.map(usage => usage.total_tokens)).toEqual(sorted(running.map(usage => usage.total_tokens)));
  expect(running.map(usage => usage.prompt_tokens_details.cached_tokens)).toEqual(running.map(() => 0));
}

/** How often, and with which sum, the quality of estimates has been measured. */
const measured = async (gateway: GatewayUnderTest) => ({
  count: await gateway.metric('sluice_usage_estimate_error_ratio_count'),
  sum: await gateway.metric('sluice_usage_estimate_error_ratio_sum'),
});

async function streamedBy(kind: UsageKind, script: Buffer, more: object = continuous) {
  const books = await openBooks({ adapter: kind.adapter });
  books.upstream.reply(script);
  const asked = books.ask(more);
  const chunks = await chunksOf(asked);
  return { books, chunks, outcome: await asked.settled() };
}

describe.each(usageKinds)('running usage, when the upstream sends $usage usage', kind => {
  it('is on every chunk, with the true usage on the last, and tells how good estimates are', async () => {
    const { books, chunks, outcome } = await streamedBy(kind, wholeStreamOf(kind));
    const usages = usagesOf(chunks);
    expectRunning(usages);
    const last = usages.at(-1)!;
    expect(chunks.map(({ json }) => json.choices?.length)).toEqual(chunks.map(() => 1));
    expect(chunks.findIndex(({ json }) => json.choices?.[0]?.finish_reason)).toBe(chunks.length - 1);
    expectBilled(outcome.usage, kind, 'all');
    const { prompt_tokens, completion_tokens, cached_tokens } = outcome.usage;
    expect(last).toEqual({
      prompt_tokens,
      completion_tokens,
      total_tokens: prompt_tokens + completion_tokens,
      prompt_tokens_details: { cached_tokens },
    });
    // One step for each word of the answer.
    expect(new Set(completions(usages)).size).toBeGreaterThan(50);
    if (kind.usage === 'running') {
      expect(completions(usages.slice(0, -1))).toEqual(usages.slice(0, -1).map((_, at) => at * 7));
      expect(new Set(usages.map(usage => usage.prompt_tokens)).size).toBe(1);
    }
    const ratio = usages.at(-2)!.completion_tokens / last.completion_tokens;
    const isMeasured = kind.usage === 'final';
    expect(await measured(books.gateway)).toEqual(
      isMeasured ? { count: 1, sum: expect.closeTo(ratio, 10) } : { count: 0, sum: 0 },
    );
    // Measured as well where the client does not ask for it.
    const plain = books.ask({ stream: true });
    const withUsage = (await chunksOf(plain)).map(({ json }) => json.usage !== undefined);
    await plain.settled();
    expect(withUsage.indexOf(true)).toBe(withUsage.length - 1);
    expect((await measured(books.gateway)).count).toBe(isMeasured ? 2 : 0);
  });

  it('sums the choices', async () => {
    const { books, chunks, outcome } = await streamedBy(kind, streamed(twoChoices(kind, true)), two);
    const usages = usagesOf(chunks);
    expectRunning(usages);
    expect(books.upstream.last.body.n).toBe(2);
    const last = usages.at(-1)!.completion_tokens;
    const before = usages.at(-2)!.completion_tokens;
    if (kind.usage === 'running') expect(before).toBe(last);
    else expectNear(before, 2 * countTokens(words.join('')));
    if (kind.usage !== 'none') expect(last).toBe(told);
    expect(outcome.usage).toMatchObject({ completion_tokens: last, estimated: kind.usage === 'none' });
  });
});

const two = { ...continuous, n: 2 };
const words = Array.from({ length: 20 }, (_, at) => ` number${at}`);

/** What the upstream counts for both. */
const told = 2 * words.length * 3;

/** Two choices word by word, as they come from vLLM, which counts each for itself until the end. */
function twoChoices({ usage }: UsageKind, isWhole: boolean): string {
  const running = (tokens: number) =>
    usage === 'running' ? { usage: { prompt_tokens: 9, completion_tokens: tokens } } : {};
  const both = (fields: object, reason: string | null, tokens: number) =>
    [0, 1].map(index => delta(fields, reason, running(tokens), index));
  const parts = [
    ...both({ role: 'assistant', content: '' }, null, 0),
    ...words.flatMap((content, at) => both({ content }, null, (at + 1) * 3)),
  ];
  const end = both({}, 'stop', words.length * 3);
  const total = usage === 'none' ? [] : [used(9, told)];
  return events(...parts, ...(isWhole ? [...end, ...total, '[DONE]'] : []));
}
