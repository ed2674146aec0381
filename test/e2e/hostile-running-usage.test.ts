import { afterEach, describe, expect, it } from '@jest/globals';
import type { Usage } from '../../src/canonical.ts';
import { closeHealthy, delta, finished, hostileSetting, said, used } from '../support/hostile-setting.ts';
import { events, streamed } from '../support/scripted-upstream.ts';

afterEach(closeHealthy);

/** What every usage must be, wherever it comes from. */
function expectSound(usage: Usage): void {
  const { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details } = usage;
  for (const count of [prompt_tokens, completion_tokens, prompt_tokens_details.cached_tokens])
    expect(Number.isSafeInteger(count) && count >= 0).toBe(true);
  expect(total_tokens).toBe(prompt_tokens + completion_tokens);
}

describe('the usage of a stream', () => {
  const counted = (content: string, prompt: number, tokens: number) =>
    delta({ content }, null, { usage: { prompt_tokens: prompt, completion_tokens: tokens } });
  const running = { stream_options: { continuous_usage_stats: true } };

  it.each([
    { when: 'before the finish', parts: [said('Hello'), used(7, 3, 2), finished()] },
    { when: 'on the finish', parts: [said('Hello'), delta({}, 'stop', { usage: used(7, 3, 2).usage })] },
    { when: 'after the finish', parts: [said('Hello'), finished(), used(7, 3, 2)] },
    {
      when: 'beside an empty choice',
      parts: [said('Hello'), finished(), delta({}, null, { usage: used(7, 3, 2).usage })],
    },
    { when: 'twice', parts: [said('Hello'), finished(), used(7, 1), used(7, 3, 2)] },
    { when: 'first of all', parts: [used(7, 3, 2), said(''), finished()] },
  ])('is on the last chunk alone when the upstream sends it $when', async ({ parts }) => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(streamed(events(...parts, '[DONE]')));
    for (const include_usage of [true, false]) {
      const { events: all } = await stream({ stream_options: { include_usage } });
      expect(all.filter(({ json }) => json.usage)).toEqual([all.at(-2)]);
      expect(all.at(-2)?.json.usage).toEqual(used(7, 3, 2).usage);
      expect(all.at(-2)?.json.choices).toEqual([{ index: 0, delta: {}, finish_reason: 'stop' }]);
    }
  });

  it('is always requested from the upstream', async () => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(streamed(events(finished(), '[DONE]')));
    for (const stream_options of [undefined, {}, { include_usage: false, continuous_usage_stats: false }]) {
      await stream({ stream_options });
      expect(upstream.last.body.stream_options).toEqual({
        include_usage: true,
        continuous_usage_stats: true,
      });
    }
  });

  it.each([
    {
      how: 'tells none',
      parts: [said('Some words. '), said('Some more words. '), said('The last words.'), finished()],
    },
    {
      how: 'tells it at the end only',
      parts: [said('Some words. '), said('Some more words. '), finished(), used(7, 40)],
    },
    {
      how: 'tells it always',
      parts: [counted('a', 7, 1), counted('b', 7, 2), counted('c', 7, 3), finished()],
    },
    {
      how: 'falls behind',
      parts: [counted('a', 7, 5), counted('b', 7, 3), counted('c', 7, 1), counted('d', 7, 6), finished()],
    },
    {
      how: 'tells less than was estimated',
      parts: [said('Some words. '.repeat(20)), counted('a', 7, 5), counted('b', 7, 6), said('c'), finished()],
    },
  ])('is on every chunk and never decreases when the upstream $how', async ({ parts }) => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(streamed(events(...parts, '[DONE]')));
    const chunks = (await stream(running)).events.slice(0, -1);
    const usages = chunks.map(({ json }) => json.usage as Usage);
    for (const usage of usages) {
      expectSound(usage);
      expect(Object.keys(usage).slice(0, 4)).toEqual([
        'prompt_tokens',
        'completion_tokens',
        'total_tokens',
        'prompt_tokens_details',
      ]);
    }
    expect(usages[0]?.completion_tokens).toBe(0);
    // The last is the truth, whatever was estimated before.
    const before = usages.slice(0, -1).map(({ completion_tokens }) => completion_tokens);
    expect(before).toEqual(before.toSorted((a, b) => a - b));
  });

  it('never exceeds max_tokens', async () => {
    const { upstream, stream } = await hostileSetting();
    upstream.reply(streamed(events(said('Some words. '.repeat(20)), finished('length'), '[DONE]')));
    const chunks = (await stream({ ...running, max_tokens: 10 })).events.slice(0, -1);
    for (const { json } of chunks) expect(json.usage?.completion_tokens).toBeLessThanOrEqual(10);
  });
});
