import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { messagesCount } from '../../../../../plugins/dialects/messages/index.ts';
import type { GatewayError } from '../../../../../src/gateway/exchange/errors.ts';
import { chatOf, messageFormat, responsesOf } from './renderings.ts';

const hello = [{ role: 'user', content: 'Hello' }];
const context = { path: '/v1/responses', headers: {}, account_id: undefined };
const count = messagesCount.create({ enabled: true }, { models: [] });
/** The least request of each dialect with some fields in place of its own. */
const parse: Readonly<Record<string, (fields: object) => unknown>> = {
  chat: fields => chatOf().parse({ model: 'a/b', messages: hello, ...fields }),
  responses: fields => responsesOf('message').parse({ model: 'a/b', input: 'a', ...fields }, context),
  messages: fields => messageFormat.parse({ model: 'a/b', max_tokens: 2000, messages: hello, ...fields }),
  count: fields => count.parse({ model: 'a/b', messages: hello, ...fields }),
};

function refused(dialect: string, fields: object): GatewayError {
  try {
    parse[dialect]!(fields);
  } catch (thrown) {
    return thrown as GatewayError;
  }
  throw new Error(`accepted: ${JSON.stringify(fields)}`);
}

const odd: Readonly<Record<string, unknown>> = {
  '(absent)': undefined,
  '(infinite)': Number.POSITIVE_INFINITY,
  '(long)': 'x'.repeat(65_536),
};
/** A copy of parsed JSON with the values that JSON does not have. */
function revived(value: unknown): unknown {
  if (typeof value === 'string') return value in odd ? odd[value] : value;
  if (Array.isArray(value)) return value.map(revived);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, revived(one)]));
}

const table = readFileSync(
  new URL('../../../../fixtures/dialects/request-faults.txt', import.meta.url),
  'utf8',
);
const rows = table
  .split(/^= /m)
  .slice(1)
  .flatMap(section => {
    const [names = '', ...lines] = section.trim().split('\n');
    return names.split(' ').flatMap(name => lines.map(line => [name, ...line.split(' | ')] as const));
  });
/** Fields that are not counted. */
const uncounted = /^(max_tokens|temperature|top_k|stop_sequences|stream|metadata)|less than max_tokens/;

describe('the error about an invalid field', () => {
  it.each(rows)('of %s names %s for %s', (dialect, param, json, problem) => {
    const fields = revived(JSON.parse(json!)) as object;
    const error = refused(dialect, fields);
    expect(error).toMatchObject({ status: 400, type: 'invalid_request_error', param });
    expect(error.message.slice(0, param!.length + 2 + problem!.length)).toBe(`${param}: ${problem}`);
    // It is the same where only the tokens of a prompt are counted.
    if (dialect === 'messages' && !uncounted.test(param!) && !uncounted.test(problem!))
      expect(refused('count', fields).message).toBe(error.message);
  });

  it('never repeats a long value', () => {
    const secret = 'x'.repeat(100);
    for (const dialect of ['chat', 'responses', 'messages']) {
      const { message } = refused(dialect, { temperature: secret });
      expect(message).not.toContain(secret);
      expect(message).toContain('not a string of 100 characters');
    }
  });
});
