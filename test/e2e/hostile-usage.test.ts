import { afterEach, describe, expect, it } from '@jest/globals';
import type { Usage } from '../../src/canonical.ts';
import {
  bothWays,
  closeHealthy,
  completion,
  expectWholeStream,
  finished,
  hostileSetting,
  type Setting,
  said,
  used,
} from '../support/hostile-setting.ts';
import { events, streamed, whole } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

afterEach(closeHealthy);

const answer = 'An answer of some words that anybody can count.';

/** The usage that the client of one request is told at its end, with the upstream's `usage` on the reply. */
async function usageTold(setting: Setting, isStream: boolean, usage: unknown): Promise<Usage> {
  const { upstream, send, stream } = setting;
  if (isStream) {
    upstream.reply(streamed(events(said(answer), finished(), { choices: [], usage }, '[DONE]')));
    return expectWholeStream(await stream(), answer).at(-1)?.json.usage as Usage;
  }
  upstream.reply(whole(200, completion(answer, {}, { usage })));
  const response = await send(false);
  expect(response.status).toBe(200);
  return ((await response.json()) as { usage: Usage }).usage;
}

/** What every usage must be, wherever it comes from. */
function expectSound(usage: Usage): void {
  const { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details } = usage;
  for (const count of [prompt_tokens, completion_tokens, prompt_tokens_details.cached_tokens])
    expect(Number.isSafeInteger(count) && count >= 0).toBe(true);
  expect(total_tokens).toBe(prompt_tokens + completion_tokens);
}

describe.each(bothWays)('usage that an upstream omits ($way)', ({ stream }) => {
  it.each([
    undefined,
    null,
    {},
    [],
    'many',
    { prompt_tokens: null, completion_tokens: null },
    { prompt_tokens: '7', completion_tokens: '3' },
    { tokens: 10 },
  ])('is estimated for %j', async usage => {
    const setting = await hostileSetting();
    const told = await usageTold(setting, stream, usage);
    expectSound(told);
    // "Hello?" and the frame of its message; about a token a word.
    expect(told.prompt_tokens).toBeGreaterThan(0);
    expect(told.prompt_tokens).toBeLessThan(20);
    expect(told.completion_tokens).toBeGreaterThan(5);
    expect(told.completion_tokens).toBeLessThan(25);
    const { gateway } = setting;
    await until(async () => (await gateway.metric('sluice_in_flight')) === 0);
    const counted = (kind: string, source: string) => gateway.metric('sluice_tokens_total', { kind, source });
    expect(await counted('output', 'estimated')).toBe(told.completion_tokens);
    expect(await counted('input', 'estimated')).toBe(told.prompt_tokens);
    expect(await counted('output', 'exact')).toBe(0);
  });

  it('is not estimated when the upstream sends it', async () => {
    const setting = await hostileSetting();
    const { usage } = used(70, 30, 20);
    expect(await usageTold(setting, stream, { ...usage, total_tokens: 1, model: 'gpu-7' })).toEqual(usage);
    const { gateway } = setting;
    await until(async () => (await gateway.metric('sluice_in_flight')) === 0);
    const exact = (kind: string) => gateway.metric('sluice_tokens_total', { kind, source: 'exact' });
    expect([await exact('input'), await exact('output'), await exact('cached')]).toEqual([70, 30, 20]);
  });
});

describe.each(bothWays)('implausible usage ($way)', ({ stream }) => {
  it.each([
    { prompt_tokens: -7, completion_tokens: -3 },
    { prompt_tokens: 7.5, completion_tokens: 3.25 },
    { prompt_tokens: 7, completion_tokens: 3, prompt_tokens_details: { cached_tokens: -1 } },
    { prompt_tokens: 7, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 'x' } },
    { prompt_tokens: 7, completion_tokens: 3, prompt_tokens_details: 'x' },
    { prompt_tokens: 7, completion_tokens: 3, completion_tokens_details: { reasoning_tokens: '2' } },
    { prompt_tokens: 7, completion_tokens: 3, completion_tokens_details: { reasoning_tokens: {} } },
    { prompt_tokens: 7, completion_tokens: 3, completion_tokens_details: { reasoning_tokens: -2 } },
    { prompt_tokens: 7, completion_tokens: 3, completion_tokens_details: [] },
  ])('is corrected for %j', async usage => {
    const setting = await hostileSetting();
    expectSound(await usageTold(setting, stream, usage));
    const { gateway } = setting;
    await until(async () => (await gateway.metric('sluice_in_flight')) === 0);
    expect(await gateway.metric('sluice_requests_total', { end_reason: 'completed' })).toBe(1);
  });

  it('is corrected when its numbers are out of range', async () => {
    const { upstream, gateway, send } = await hostileSetting();
    const usage =
      '{"prompt_tokens":1e999,"completion_tokens":1e999,"completion_tokens_details":{"reasoning_tokens":1e999}}';
    const text = JSON.stringify(completion(answer, {}, { usage: 'HERE' })).replace('"HERE"', usage);
    const chunk = JSON.stringify({ choices: [], usage: 'HERE' }).replace('"HERE"', usage);
    upstream.reply(stream ? streamed(events(said(answer), finished(), chunk, '[DONE]')) : whole(200, text));
    expect(await (await send(stream)).text()).not.toMatch(/tokens":(null|\d+e)/);
    await until(async () => (await gateway.metric('sluice_in_flight')) === 0);
    expect(await gateway.metric('sluice_requests_total', { end_reason: 'completed' })).toBe(1);
  });

  it('keeps only numbers in its details', async () => {
    const setting = await hostileSetting();
    const details = { reasoning_tokens: 2, audio_tokens: 0, worker: 'gpu-7' };
    const { usage } = used(7, 3);
    const told = await usageTold(setting, stream, { ...usage, completion_tokens_details: details });
    expect(told.completion_tokens_details).toEqual({ reasoning_tokens: 2, audio_tokens: 0 });
  });
});
