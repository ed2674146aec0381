import { describe, expect, it } from '@jest/globals';
import { textWithoutPrompt, withoutPrompt } from '../../../../../src/gateway/exchange/prompt-filter.ts';
import { patience_ms } from '../../../../support/until.ts';
import { sampleExchange } from '../../../sample-exchange.ts';

const secret = 'My password is hunter2, and my cat is called Félix.';
const asked = (...messages: object[]) => sampleExchange({ request: { messages } as never });

describe('a text for the log', () => {
  it.each([
    ['the content', asked({ role: 'user', content: secret })],
    ['a part', asked({ role: 'user', content: [{ type: 'text', text: secret }] })],
    ['an earlier message', asked({ role: 'system', content: secret }, { role: 'user', content: 'Hi' })],
    [
      'the newest message of more than is looked at',
      asked({ role: 'user', content: 'x'.repeat(70_000) }, { role: 'user', content: secret }),
    ],
    [
      'arguments of a call',
      asked({ role: 'assistant', tool_calls: [{ function: { arguments: `{"a":"${secret}"}` } }] }),
    ],
  ])('has no quotation of %s', (_, exchange) => {
    expect(textWithoutPrompt(exchange, `invalid: '${secret}' (twice: ${secret})`)).toBe(
      "invalid: '[prompt]' (twice: [prompt])",
    );
    expect(textWithoutPrompt(exchange, `invalid: ${secret.slice(12)}`)).toMatch(/^invalid: ?\[prompt\]$/);
  });

  it('keeps what is no quotation', () => {
    const exchange = asked({ role: 'user', content: secret });
    const text = 'max_completion_tokens: 99999 exceeds the limit; my password is short';
    expect(textWithoutPrompt(exchange, text)).toBe(text);
    expect(textWithoutPrompt(sampleExchange({}), secret)).toBe(secret);
  });

  it('has nothing in quotation marks where the body was passed through unread', () => {
    const passed = sampleExchange({});
    Object.assign(passed, { endpoint: { ...passed.endpoint, name: 'passthrough' } });
    for (const [open, close] of ['""', "''", '``', '“”'])
      expect(textWithoutPrompt(passed, `'input' is wrong: ${open}${secret}${close}, can't read it`)).toBe(
        `'input' is wrong: ${open}[prompt]${close}, can't read it`,
      );
    expect(textWithoutPrompt(passed, `{"input":"a \\"b\\" ${secret}`)).toBe('{"input":"[prompt]');
  });

  it.each([
    ['words', 'a '.repeat(2_000_000), `${'a '.repeat(11)}b `.repeat(1000)],
    ['letters', 'a'.repeat(65_536), 'a.'.repeat(2000)],
    ['dots', '.'.repeat(65_536), `${'.'.repeat(22)}c`.repeat(178)],
  ])('is searched in little time, whatever the prompt and the message are: %s', (_, content, message) => {
    const exchange = asked({ role: 'user', content });
    const start_ms = performance.now();
    for (let time = 0; time < 5; time++) textWithoutPrompt(exchange, message);
    expect(performance.now() - start_ms).toBeLessThan(patience_ms(1000));
  });
});

it('an error for the log has no quotation in message, stack and causes, and is the same if there is none', () => {
  const exchange = asked({ role: 'user', content: secret });
  const error = new TypeError(`invalid: ${secret}`, { cause: new Error(`bad: ${secret}`) });
  const clean = withoutPrompt(exchange, error) as Error;
  expect([clean.message, (clean.cause as Error).message]).toEqual(['invalid: [prompt]', 'bad: [prompt]']);
  expect(`${clean.stack}${(clean.cause as Error).stack}`).not.toContain('hunter2');
  expect([clean.name, clean.stack?.includes('prompt-filter.test')]).toEqual(['TypeError', true]);
  const other = new Error('connect ECONNREFUSED 127.0.0.1:9');
  expect(withoutPrompt(exchange, other)).toBe(other);
});

it('an error for the log has no quotation in a cause of an error that quotes nothing', () => {
  const error = new Error('the call has failed', { cause: new Error(`bad: ${secret}`) });
  const clean = withoutPrompt(asked({ role: 'user', content: secret }), error) as Error;
  expect([clean.message, (clean.cause as Error).message]).toEqual([error.message, 'bad: [prompt]']);
});

const loop = new Error(`bad: ${secret}`);
loop.cause = loop;

it.each<[string, Error]>([
  ['is its own cause', loop],
  ['has no text for its message', Object.assign(new Error('x'), { message: { detail: secret } })],
  [
    'throws when it is read',
    new Proxy(new Error(secret), {
      get() {
        throw new Error('no');
      },
    }),
  ],
  ['has no text for its stack', Object.assign(new Error(`bad: ${secret}`), { stack: null })],
])('an error for the log may be any error, also one that %s', (_, error) => {
  expect(String(withoutPrompt(asked({ role: 'user', content: secret }), error))).not.toContain('hunter2');
});
