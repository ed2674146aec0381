import { describe, expect, it } from '@jest/globals';
import { redact } from '../../../../../plugins/stages/redact/index.ts';
import type { Completion } from '../../../../../src/gateway/exchange/canonical.ts';
import type { Stage } from '../../../../../src/gateway/exchange/stage.ts';
import { costGrowth, most_growth } from '../../../../support/cost-growth.ts';
import { sampleExchange } from '../../../sample-exchange.ts';
import { sampleSetup } from '../../../sample-setup.ts';

type Options = Parameters<typeof redact>[0];

const stageOf = (options?: Options): Stage => redact(options).plan.create(sampleSetup());

const replyOf = (content: string): Completion => ({
  choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
});

async function masked(text: string, options?: Options): Promise<string | null> {
  const reply = await stageOf(options).onReply!(sampleExchange(), replyOf(text));
  return reply.choices[0]!.message.content;
}

const everything: Options = { patterns: ['email', 'credit_card', 'iban', 'api_key', 'ipv4'] };

describe('redact', () => {
  it.each([
    ['Write to jane.doe+x@mail.example.org.', 'Write to [email].'],
    ['müller@firma-süd.de', '[email]'],
    ['Card 4111 1111 1111 1111, thanks', 'Card [credit_card], thanks'],
    ['4111-1111-1111-1111 123', '[credit_card] 123'],
    ['4111 1111 1111 1111-123', '[credit_card]-123'],
    ['5500005555555559', '[credit_card]'],
    ['12 4111111111111111', '12 [credit_card]'],
    ['Pay to DE89 3704 0044 0532 0130 00 NOW', 'Pay to [iban] NOW'],
    ['GB82WEST12345698765432', '[iban]'],
    ['key sk-proj-abcdefghijklmnop1234', 'key [api_key]'],
    ['ghp_abcdefghijklmnopqrstuvwxyz012345 AKIAIOSFODNN7EXAMPLE', '[api_key] [api_key]'],
    ['Authorization: Bearer abc.def-ghi_jkl/mno==', 'Authorization: [api_key]'],
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def_ghi', '[api_key]'],
    ['from 192.168.10.1:80', 'from [ipv4]:80'],
  ])('masks %j', async (text, expected) => {
    expect(await masked(text, everything)).toBe(expected);
  });

  it.each([
    'a @ b.co, a@b, @handle, 3 @ 4.50',
    'order 4111 1111 1111 1112 and 1732291200000',
    'DE89 1704 0044 0532 0130 01',
    'the disk-usage-is-high-on-all-nodes, task-force, sk-short',
    'version 1.2.3, 300.1.1.1',
    'the bearer of good news and token eyJust',
  ])('leaves %j', async text => {
    expect(await masked(text, everything)).toBe(text);
  });

  it('masks by regular expressions of its own, before those built in', async () => {
    const patterns: NonNullable<Options>['patterns'] = [
      { name: 'ticket', regex: 'tck-\\d+', ignore_case: true },
      { name: 'project', regex: 'Blue(?:bird|jay)', replacement: 'the project' },
      'email',
    ];
    expect(await masked('TCK-1 tck-22 Bluejay bluejay a@b.co', { patterns })).toBe(
      '[ticket] [ticket] the project bluejay [email]',
    );
  });

  it.each([
    ['requests', ['onRequest']],
    ['replies', ['onReply', 'onStream']],
    ['both', ['onRequest', 'onReply', 'onStream']],
  ] as const)('has hooks only for what it masks: %s', (where, hooks) => {
    expect(Object.keys(stageOf({ where })).filter(key => key.startsWith('on'))).toEqual(hooks);
  });

  it.each([
    ['(a+)\\1', /patterns\[0\]\.regex: .*cannot be matched in a stream: \\1/],
    ['a(', /patterns\[0\]\.regex: .*Invalid regular expression/],
    ['a*', /patterns\[0\]\.regex: .*matches an empty text/],
  ])('refuses the regular expression %s when it is created', (regex, message) => {
    expect(() => redact({ patterns: [{ name: 'own', regex }] })).toThrow(message);
  });

  it('refuses a pattern that it does not know', () => {
    expect(() => redact({ patterns: ['emial' as 'email'] })).toThrow(/patterns\[0\]/);
  });

  it('counts what it masks by pattern, and nothing for its copies', async () => {
    const setup = sampleSetup();
    const counts: string[] = [];
    const counter = { labels: (name: string) => ({ inc: () => void counts.push(name) }) };
    const metrics = { ...setup.metrics, counter: () => counter } as unknown as typeof setup.metrics;
    const stage = redact().plan.create({ ...setup, metrics });
    const [choice] = replyOf('a@b.co 4111111111111111 4111111111111112').choices;
    const logprobs = { content: [{ token: 'a@b.co', logprob: 0, top_logprobs: [{ token: 'a@b.co' }] }] };
    await stage.onReply!(sampleExchange(), { choices: [{ ...choice!, logprobs }] });
    expect(counts).toEqual(['email', 'credit_card']);
  });

  it.each([
    ['nested quantifiers', '(?:(?:a+)+)+b', 'a'],
    ['alternatives that overlap', '(?:a|a|aa)+b', 'a'],
    ['many quantifiers in a row', 'a+a+a+a+a+b', 'a'],
    ['the addresses that are built in', '[\\w.]+@never', 'a@a.'],
    ['sets of states that are ever new', '[ab]*a[ab]{12}c', 'abaab'],
  ])('costs time linear in an evil text: %s', async (_, regex, unit) => {
    const patterns: NonNullable<Options>['patterns'] = [
      'email',
      'credit_card',
      'iban',
      'api_key',
      { name: 'own', regex },
    ];
    const stage = stageOf({ patterns });
    const growth = await costGrowth(size => {
      const reply = replyOf(unit.repeat(size / unit.length));
      return () => stage.onReply!(sampleExchange(), reply);
    }, 100_000);
    expect(growth).toBeLessThanOrEqual(most_growth);
  });
});
