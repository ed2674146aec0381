import { afterEach, describe, expect, it } from '@jest/globals';
import { ask, eventsOf } from '../support/gateway-under-test.ts';
import { fixtureOf, type ProviderName } from '../support/provider-fixtures.ts';
import { type ProviderSetting, providerSetting, written } from '../support/provider-setting.ts';
import { events, streamed, whole } from '../support/scripted-upstream.ts';

const open: ProviderSetting[] = [];

afterEach(() => Promise.all(open.splice(0).map(setting => setting.close())));

async function asked(provider: ProviderName, more: object, options: object = {}) {
  const setting = await providerSetting(provider, options);
  open.push(setting);
  const isStreamed = 'stream' in more;
  setting.upstream.reply(written(fixtureOf(provider, 'answer'), isStreamed));
  const reply = await setting.gateway.post(ask('Hello', more));
  const text = await reply.text();
  return {
    status: reply.status,
    text,
    ignored: reply.headers.get('x-ignored-parameters'),
    requests: setting.upstream.requests,
    body: setting.upstream.requests.at(-1)?.body,
  };
}

describe('parameters that a server does not support', () => {
  it('include those listed in the configuration', async () => {
    const { body, ignored } = await asked(
      'openai',
      { temperature: 0.2, stop: 'END', seed: 7 },
      { drop_parameters: ['temperature', 'seed'] },
    );
    expect(body).toMatchObject({ stop: ['END'] });
    expect(body).not.toHaveProperty('temperature');
    expect(body).not.toHaveProperty('seed');
    expect(ignored).toBe('temperature, seed');
  });
});

describe('parameters that change what a request costs or keeps', () => {
  const special = {
    service_tier: 'flex',
    verbosity: 'low',
    prediction: { type: 'content', content: 'Hello' },
    store: true,
    web_search_options: {},
  };
  const names = Object.keys(special);

  it('are sent to no server unless they are listed, and named', async () => {
    const { body, ignored } = await asked('openai', special);
    for (const name of names) expect(body).not.toHaveProperty(name);
    expect(ignored).toBe(names.join(', '));
  });

  it('are sent as they came to a server whose configuration lists them', async () => {
    const { body, ignored } = await asked('openai', special, { extra_parameters: names });
    expect(body).toMatchObject(special);
    expect(ignored).toBeNull();
  });

  it('are sent to a server whose adapter lists them, beside those of the configuration', async () => {
    const { body, ignored } = await asked('openrouter', special, { extra_parameters: ['store'] });
    const { verbosity, prediction, store } = special;
    expect(body).toMatchObject({ verbosity, prediction, store });
    expect(ignored).toBe('service_tier, web_search_options');
  });

  it('are passed on from responses as well', async () => {
    const setting = await providerSetting('openai', { extra_parameters: ['service_tier', 'verbosity'] });
    open.push(setting);
    setting.upstream.reply(written(fixtureOf('openai', 'answer'), false));
    const { model } = ask('Hello') as { model: string };
    const text = { verbosity: 'low' };
    const reply = await setting.gateway.post(
      { model, input: 'Hello', service_tier: 'flex', text },
      { path: '/v1/responses' },
    );
    expect(await reply.json()).toMatchObject({ service_tier: 'flex' });
    expect(setting.upstream.last.body).toMatchObject({ service_tier: 'flex', verbosity: 'low' });
    expect(reply.headers.get('x-ignored-parameters')).toBeNull();
  });
});

describe('reasoning that the client wants in the text', () => {
  const tagged = '<think>Short question.</think>Water cuts.';
  const reply = (content: string) => ({
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 5, completion_tokens: 6 },
  });

  it.each([
    ['sglang', { separate_reasoning: false }],
    ['llama-cpp', { reasoning_format: 'none' }],
  ] as const)('is left in the text by %s and passes unchanged', async (provider, asks) => {
    const setting = await providerSetting(provider);
    open.push(setting);
    const { index, finish_reason } = reply('').choices[0]!;
    const chunks = ['<think>Short', ' question.</thi', 'nk>Water cuts.'].map(content => ({
      choices: [{ index, delta: { content }, finish_reason: null }],
    }));
    const end = { choices: [{ index, delta: {}, finish_reason }], usage: reply('').usage };
    for (const stream of [true, false]) {
      setting.upstream.reply(stream ? streamed(events(...chunks, end, '[DONE]')) : whole(200, reply(tagged)));
      const answer = await setting.gateway.post(ask('Why?', { reasoning_split: false, stream }));
      const text = await answer.text();
      const said = stream
        ? eventsOf(text)
            .map(({ json }) => json.choices?.[0]?.delta.content ?? '')
            .join('')
        : (JSON.parse(text) as ReturnType<typeof reply>).choices[0]!.message.content;
      expect(said).toBe(tagged);
      expect(setting.upstream.last.body).toMatchObject(asks);
    }
  });
});

describe('the options of a provider', () => {
  it('set the version and the extra headers that the Messages API receives', async () => {
    const setting = await providerSetting('anthropic', {
      beta: ['a-1'],
      headers: { 'Anthropic-Version': '2024-01-01', 'x-own': 'y' },
    });
    open.push(setting);
    setting.upstream.reply(written(fixtureOf('anthropic', 'answer'), false));
    await setting.gateway.post(ask('Hello'));
    expect(setting.upstream.last.headers).toMatchObject({
      'anthropic-version': '2024-01-01',
      'anthropic-beta': 'a-1',
      'x-own': 'y',
    });
  });
});
