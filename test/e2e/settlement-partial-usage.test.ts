import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { estimateTokens } from '../../src/gateway/settlement/usage-meter.ts';
import { ask } from '../support/gateway-under-test.ts';
import { type ProviderSetting, providerSetting } from '../support/provider-setting.ts';
import { events, streamed, whole } from '../support/scripted-upstream.ts';

let setting: ProviderSetting;

beforeAll(async () => {
  setting = await providerSetting('llama-cpp', { timings_per_token: false });
});

afterAll(() => setting?.close());

const texts = ['Water cuts the outer bank of a river.', 'It leaves its sand on the inner bank.'];
const completion_tokens = estimateTokens(texts[0]!) + estimateTokens(texts[1]!);
const usage = {
  prompt_tokens: 311,
  completion_tokens: 2,
  total_tokens: 313,
  prompt_tokens_details: { cached_tokens: 300 },
};
const billed = { prompt_tokens: 311, completion_tokens, cached_tokens: 300, estimated: true };

it('bills the exact prompt and an estimated completion when llama.cpp counts one of two choices', async () => {
  const choices = texts.map((content, index) => ({
    index,
    message: { role: 'assistant', content },
    finish_reason: 'stop',
  }));
  setting.upstream.reply(whole(200, { choices, usage }));
  const reply = (await (await setting.gateway.post(ask('Hello', { n: 2 }))).json()) as object;
  expect(reply).toMatchObject({
    usage: { ...usage, completion_tokens, total_tokens: 311 + completion_tokens },
  });
  expect((await setting.settled(1)).usage).toMatchObject(billed);
});

it('bills a stream of two choices in the same way', async () => {
  const parts = texts.flatMap((content, index) => [
    { choices: [{ index, delta: { content } }] },
    { choices: [{ index, delta: {}, finish_reason: 'stop' }] },
  ]);
  setting.upstream.reply(streamed(events(...parts, { choices: [], usage }, '[DONE]')));
  const { events: sent } = await setting.gateway.stream(ask('Hello', { n: 2 }));
  expect(sent.at(-2)?.json.usage).toMatchObject({ prompt_tokens: 311, completion_tokens });
  expect((await setting.settled(2)).usage).toMatchObject(billed);
});
