import { afterEach, describe, expect, it } from '@jest/globals';
import { closeHealthy, contentOf, delta, hostileSetting, used } from '../support/hostile-setting.ts';
import { events, streamed } from '../support/scripted-upstream.ts';

afterEach(closeHealthy);

describe('a stream of two choices', () => {
  const n2 = { n: 2 };
  const text = (index: number, content: string, more: object = {}) => delta({ content }, null, more, index);
  const end = (index: number, more: object = {}) => delta({}, 'stop', more, index);

  it('ends with one finish chunk per choice and usage on the last', async () => {
    const { upstream, stream } = await hostileSetting();
    const parts = [text(0, 'A'), text(1, 'B'), end(0), text(1, 'b'), end(1), used(7, 4), '[DONE]'];
    upstream.reply(streamed(events(...parts)));
    const reply = await stream(n2);
    expect([contentOf(reply, 0), contentOf(reply, 1)]).toEqual(['A', 'Bb']);
    const choices = reply.events.flatMap(({ json }) => json.choices ?? []);
    const roles = choices.filter(({ delta }) => delta.role).map(({ index }) => index);
    expect(roles.toSorted()).toEqual([0, 1]);
    const ends = choices.filter(({ finish_reason }) => finish_reason).map(({ index }) => index);
    expect(ends).toEqual([0, 1]);
    expect(reply.events.filter(({ json }) => json.usage).length).toBe(1);
    expect(reply.events.at(-2)?.json.usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 4 });
  });

  it('has one running total when vLLM counts each choice separately', async () => {
    const { upstream, stream } = await hostileSetting();
    const counted = (prompt: number, tokens: number) => ({
      usage: { prompt_tokens: prompt, completion_tokens: tokens, total_tokens: prompt + tokens },
    });
    const parts = [
      text(0, 'A', counted(7, 1)),
      text(1, 'B', counted(7, 1)),
      text(0, 'a', counted(7, 2)),
      text(1, 'b', counted(7, 2)),
      end(0, counted(7, 3)),
      end(1, counted(7, 3)),
      used(7, 6),
      '[DONE]',
    ];
    upstream.reply(streamed(events(...parts)));
    const reply = await stream({ ...n2, stream_options: { continuous_usage_stats: true } });
    const counts = reply.events.slice(0, -1).map(({ json }) => json.usage?.completion_tokens ?? Number.NaN);
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
    expect(counts[0]).toBe(0);
    expect(counts).toEqual(expect.arrayContaining([2, 3, 4]));
    expect(counts.at(-1)).toBe(6);
  });

  it('keeps the total of an upstream that counts choices together', async () => {
    const { upstream, stream } = await hostileSetting({ adapter: 'openai' });
    const usage = { prompt_tokens: 7, completion_tokens: 4 };
    upstream.reply(
      streamed(events(text(0, 'A'), text(1, 'B'), end(0, { usage }), end(1, { usage }), '[DONE]')),
    );
    const reply = await stream(n2);
    expect(reply.events.at(-2)?.json.usage).toMatchObject({ ...usage, total_tokens: 11 });
  });

  it('accepts both choices in one chunk', async () => {
    const { upstream, stream } = await hostileSetting();
    const both = (...choices: object[]) => ({ choices });
    upstream.reply(
      streamed(
        events(
          both({ index: 0, delta: { content: 'A' } }, { index: 1, delta: { content: 'B' } }),
          both(
            { index: 0, delta: {}, finish_reason: 'stop' },
            { index: 1, delta: {}, finish_reason: 'length' },
          ),
          '[DONE]',
        ),
      ),
    );
    const reply = await stream(n2);
    expect([contentOf(reply, 0), contentOf(reply, 1)]).toEqual(['A', 'B']);
    expect(reply.events.at(-2)?.json).toMatchObject({ choices: [{ index: 1, finish_reason: 'length' }] });
    expect(reply.events.at(-2)?.json.usage).toBeDefined();
  });
});
