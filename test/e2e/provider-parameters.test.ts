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

const all = {
  temperature: 0.5,
  top_p: 0.9,
  seed: 7,
  presence_penalty: 0.5,
  frequency_penalty: 0.5,
  logit_bias: { 5: 1 },
  logprobs: true,
  top_logprobs: 2,
  user: 'u-1',
};

describe('parameters that a server does not support', () => {
  it.each(['openai', 'vllm', 'sglang', 'llama-cpp', 'openrouter'] as const)(
    'are all sent to %s, which supports them',
    async provider => {
      const { body, ignored } = await asked(provider, all);
      expect(body).toMatchObject(all);
      expect(ignored).toBeNull();
    },
  );

  it.each([{}, { stream: true }])('are withheld from the Messages API and named: %j', async more => {
    const { status, body, ignored } = await asked('anthropic', { ...all, ...more, priority: 1 });
    expect(status).toBe(200);
    expect(Object.keys(body!).toSorted()).toEqual(
      [
        'max_tokens',
        'messages',
        'metadata',
        'model',
        'thinking',
        ...('stream' in more ? ['stream'] : []),
      ].toSorted(),
    );
    expect(ignored?.split(', ').toSorted()).toEqual(
      [
        'frequency_penalty',
        'logit_bias',
        'logprobs',
        'presence_penalty',
        'priority',
        'seed',
        'temperature',
        'top_logprobs',
        'top_p',
      ].toSorted(),
    );
  });

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

describe('a request that a server cannot fulfil', () => {
  it.each([
    [{ n: 2 }, 'n: must be 1 for this model.'],
    [{ response_format: { type: 'json_object' } }, /^response_format: must be/],
    [
      {
        messages: [
          { role: 'user', content: 'Roll.' },
          {
            role: 'assistant',
            tool_calls: [{ id: 'a', type: 'function', function: { name: 'roll', arguments: '6' } }],
          },
        ],
      },
      'messages[1].tool_calls[0].function.arguments: must be a JSON object for this model.',
    ],
  ])('is refused by field name before the upstream is asked: %j', async (more, message) => {
    for (const stream of [{}, { stream: true }]) {
      const { status, text, requests } = await asked('anthropic', { ...more, ...stream });
      const { error } = JSON.parse(text) as { error: { message: string; type: string } };
      expect({ status, type: error.type }).toEqual({ status: 400, type: 'invalid_request_error' });
      expect(error.message).toEqual(typeof message === 'string' ? message : expect.stringMatching(message));
      expect(requests).toEqual([]);
    }
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

  it.each(['openai', 'vllm', 'sglang', 'llama-cpp', 'openrouter', 'anthropic'] as const)(
    'is put back into the text when %s has separated it',
    async provider => {
      const fixture = fixtureOf(provider, 'answer');
      const { content, reasoning } = fixture.choices[0]!.message;
      for (const stream of [{}, { stream: true }]) {
        const { text } = await asked(provider, { reasoning_split: false, ...stream });
        const said =
          'stream' in stream
            ? eventsOf(text)
                .map(({ json }) => json.choices?.[0]?.delta.content ?? '')
                .join('')
            : (JSON.parse(text) as ReturnType<typeof reply>).choices[0]!.message.content;
        expect(said).toBe(reasoning === undefined ? content : `<think>${reasoning}</think>${content}`);
      }
    },
  );
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
