import { describe, expect, it } from '@jest/globals';
import { textWithoutPrompt, withoutPrompt } from '../../../../src/exchange/prompt-filter.ts';
import { sampleExchange } from '../../sample-exchange.ts';

const secret = 'My password is hunter2, and my cat is called Félix.';
const asked = (...messages: object[]) => sampleExchange({ request: { messages } as never });

describe('a text for the log', () => {
  it.each([
    ['the content', asked({ role: 'user', content: secret })],
    ['a part', asked({ role: 'user', content: [{ type: 'text', text: secret }] })],
    ['an earlier message', asked({ role: 'system', content: secret }, { role: 'user', content: 'Hi' })],
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

  it('is searched in little time, whatever the prompt and the message are', () => {
    const exchange = asked({ role: 'user', content: 'a '.repeat(2_000_000) });
    const start_ms = performance.now();
    textWithoutPrompt(exchange, `${'a '.repeat(11)}b `.repeat(1000));
    expect(performance.now() - start_ms).toBeLessThan(2000);
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
