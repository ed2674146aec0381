import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { AliasTable } from '../../../../../plugins/stages/aliases/alias-table.ts';
import { aliases } from '../../../../../plugins/stages/aliases/index.ts';
import { sampleExchange, sampleModel } from '../../../sample-exchange.ts';
import { sampleSetup } from '../../../sample-setup.ts';

const name = fc.string({ unit: fc.constantFrom('a', 'b', '-', 'é'), minLength: 0, maxLength: 5 });

describe('AliasTable', () => {
  it('finds an exact name first, then the longest beginning', () => {
    const rows = fc.dictionary(
      fc.tuple(name, fc.boolean()).map(([text, isBeginning]) => (isBeginning ? `${text}*` : text || 'x')),
      fc.constantFrom('small', 'large', 'other'),
    );
    fc.assert(
      fc.property(rows, name, (table, asked) => {
        const beginnings = Object.keys(table)
          .filter(key => key.endsWith('*') && asked.startsWith(key.slice(0, -1)))
          .sort((one, other) => other.length - one.length);
        const expected = Object.hasOwn(table, asked) ? table[asked] : table[beginnings[0] ?? ''];
        expect(new AliasTable(table).find(asked)).toBe(expected);
      }),
    );
  });

  it('lists the exact names only', () => {
    expect(new AliasTable({ 'a*': 'm', b: 'm', '*': 'm' }).names).toEqual(['b']);
  });

  it('knows no name of more than 256 characters', () => {
    const table = new AliasTable({ '*': 'm' });
    expect([table.find('x'.repeat(256)), table.find('x'.repeat(257))]).toEqual(['m', undefined]);
  });
});

describe('the stage aliases', () => {
  type Options = Parameters<typeof aliases>[0];
  function named(asked: string, options: Options, account?: string, isKnown = false) {
    const exchange = sampleExchange({ request: { model: asked } });
    if (isKnown) exchange.model = sampleModel();
    if (account !== undefined) exchange.account = { id: account, plan: undefined };
    aliases(options).plan.create(sampleSetup()).onRequest!(exchange);
    return [exchange.request.model, exchange.reply_model];
  }
  const names = { 'gpt-4o': 'openai/gpt-4o', 'claude-*': 'anthropic/claude' };
  const accounts = { ann: { 'gpt-*': 'acme/small', toString: 'acme/small' } };

  it('asks for the model, and has the reply carry the name that was asked for', () => {
    expect(named('claude-3-opus', { names })).toEqual(['anthropic/claude', 'claude-3-opus']);
    expect(named('claude-3-opus', { names, in_replies: false })).toEqual(['anthropic/claude', undefined]);
  });

  it('takes an alias of the account before all others', () => {
    expect(named('gpt-4o', { names, accounts }, 'ann')[0]).toBe('acme/small');
    expect(named('gpt-4o', { names, accounts }, 'bob')[0]).toBe('openai/gpt-4o');
    expect(named('claude-x', { names, accounts }, 'ann')[0]).toBe('anthropic/claude');
  });

  it.each([
    ['a name that is no alias', 'gpt-5', undefined, false],
    ['a name of the catalog', 'gpt-4o', undefined, true],
    ['a property of every object', 'toString', 'constructor', false],
  ])('leaves %s as it is', (_, asked, account, isKnown) => {
    expect(named(asked, { names, accounts }, account, isKnown)).toEqual([asked, undefined]);
  });

  it.each(['a*b', '**', '*a', '', 'x'.repeat(257)])('refuses the name %j', given => {
    expect(() => aliases({ names: { [given]: 'm' } })).toThrow();
  });
});
