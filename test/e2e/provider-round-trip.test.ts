import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { upstreamKey } from '../support/gateway-under-test.ts';
import { fixtureOf, type ProviderName, providerNames } from '../support/provider-fixtures.ts';
import { askChat, type ProviderSetting, providerSetting, written } from '../support/provider-setting.ts';

/** What the reasoning of the tool call looks like when its turn is sent again, where the server wants it. */
const sealed: Partial<Record<ProviderName, object>> = {
  openrouter: {
    reasoning_details: [
      {
        type: 'reasoning.text',
        text: 'Two dice are asked for.',
        format: 'anthropic-claude-v1',
        index: 0,
        signature: 'c2lnbmVk',
      },
    ],
  },
};

describe.each(providerNames)('a round trip with %s', provider => {
  const tools = fixtureOf(provider, 'tools');
  const answer = fixtureOf(provider, 'answer');
  const calls = tools.choices[0]!.message.tool_calls!;
  let setting: ProviderSetting;
  let exchanges = 0;

  beforeAll(async () => {
    setting = await providerSetting(provider);
  });

  afterAll(() => setting?.close());

  it.each([true, false])(
    'calls tools with its reasoning, accepts their results, answers, and is billed exactly, streamed: %s',
    async isStreamed => {
      setting.upstream.reply(written(tools, isStreamed));
      const called = await askChat(setting, { words: 'Roll two dice.' }, isStreamed);
      expect(shown(called.choices)).toEqual(shown(tools.choices, expect.objectContaining));
      expect(called.usage).toMatchObject(figures(tools.usage));
      expect((await setting.settled(++exchanges)).usage).toMatchObject(billed(tools.usage));

      setting.upstream.reply(written(answer, isStreamed));
      const turn = { words: 'Roll two dice.', called, results: ['It shows 7.', 'It shows 4.'] };
      const answered = await askChat(setting, turn, isStreamed);
      expect(shown(answered.choices)).toEqual(shown(answer.choices, expect.objectContaining));
      expect(answered.usage).toMatchObject(figures(answer.usage));
      expect(await setting.settled(++exchanges)).toMatchObject({
        usage: billed(answer.usage),
        // 8 plain and 16 cached tokens in, 26 out.
        cost_usd: '0.000192',
        end_reason: 'completed',
      });
      expectHistory();
    },
  );

  /** The turn that called tools, and their results, as the server was told of them. */
  function expectHistory(): void {
    const { path, headers, body } = setting.upstream.last;
    const messages = body.messages as Record<string, unknown>[];
    if (provider !== 'anthropic') {
      expect({ path, authorization: headers.authorization }).toEqual({
        path: '/v1/chat/completions',
        authorization: `Bearer ${upstreamKey}`,
      });
      expect(messages).toHaveLength(4);
      const { tool_calls, ...turn } = messages[1] as unknown as { tool_calls: typeof calls };
      expect(turn).toMatchObject({ role: 'assistant', ...sealed[provider] });
      expect(inputsOf(tool_calls)).toEqual(inputsOf(calls));
      expect(messages.slice(2)).toMatchObject([
        { role: 'tool', tool_call_id: calls[0]!.id, content: 'It shows 7.' },
        { role: 'tool', tool_call_id: calls[1]!.id, content: 'It shows 4.' },
      ]);
      return;
    }
    expect({ path, key: headers['x-api-key'], version: headers['anthropic-version'] }).toEqual({
      path: '/v1/messages',
      key: upstreamKey,
      version: '2023-06-01',
    });
    expect(headers).not.toHaveProperty('authorization');
    expect(body.thinking).toEqual({ type: 'enabled', budget_tokens: 24_000 });
    expect(messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Roll two dice.' }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Two dice are asked for.', signature: 'EqQBCgIYAhIM1gbcDa9GJwZA' },
          ...calls.map(({ id, function: { name, arguments: text } }) => ({
            type: 'tool_use',
            id,
            name,
            input: JSON.parse(text),
          })),
        ],
      },
      {
        role: 'user',
        content: ['It shows 7.', 'It shows 4.'].map((text, at) => ({
          type: 'tool_result',
          tool_use_id: calls[at]!.id,
          content: [{ type: 'text', text }],
        })),
      },
    ]);
  }
});

type Fixture = ReturnType<typeof fixtureOf>;

/** Choices as a client sees them: nothing is said of reasoning where there was none. */
const shown = (choices: Fixture['choices'], asMessage: (message: object) => unknown = message => message) =>
  choices.map(({ index, message: { tool_calls, ...message }, finish_reason }) => ({
    index,
    finish_reason,
    message: asMessage({ ...message, ...(tool_calls && { tool_calls: inputsOf(tool_calls) }) }),
  }));

/** Calls with parsed arguments: a format whose arguments are objects loses white space. */
const inputsOf = (calls: NonNullable<Fixture['choices'][number]['message']['tool_calls']>) =>
  calls.map(({ id, function: { name, arguments: text } }) => ({ id, name, input: JSON.parse(text) }));

const figures = ({
  prompt_tokens,
  completion_tokens,
  total_tokens,
  prompt_tokens_details,
}: Fixture['usage']) => ({
  prompt_tokens,
  completion_tokens,
  total_tokens,
  prompt_tokens_details,
});

const billed = ({ prompt_tokens, completion_tokens, prompt_tokens_details }: Fixture['usage']) => ({
  prompt_tokens,
  completion_tokens,
  cached_tokens: prompt_tokens_details.cached_tokens,
  estimated: false,
});
