import { describe, expect, it } from '@jest/globals';
import { traitsOf } from '../../../../../plugins/providers/anthropic/thinking.ts';
import { adaptive, bodyOf, budgeted, encoded } from './encoded.ts';

const roll = { type: 'function' as const, function: { name: 'roll' } };

describe('a thinking budget (g)', () => {
  it.each([
    ['none', { type: 'disabled' }],
    ['minimal', { type: 'enabled', budget_tokens: 1024 }],
    ['low', { type: 'enabled', budget_tokens: 1024 }],
    ['medium', { type: 'enabled', budget_tokens: 8000 }],
    ['high', { type: 'enabled', budget_tokens: 24_000 }],
  ])('follows the effort %s', (reasoning_effort, thinking) => {
    const body = bodyOf({ reasoning_effort });
    expect(body.thinking).toEqual(thinking);
    expect(body).not.toHaveProperty('output_config');
  });

  it.each([
    [32_768, 26_214],
    [64_000, 32_000],
    [8000, 6400],
    [1280, 1024],
    [1025, 1024],
  ])('leaves room for the answer under a cap of %i tokens', (max_tokens, budget_tokens) => {
    const { body, ignored } = encoded({ max_tokens, reasoning_effort: 'max' });
    expect(body).toMatchObject({ max_tokens, thinking: { type: 'enabled', budget_tokens } });
    expect(budget_tokens).toBeLessThan(max_tokens);
    expect(ignored).toEqual([]);
  });

  it.each([1, 1000, 1024])('is disabled and reported as ignored under a cap of %i tokens', max_tokens => {
    const { body, ignored } = encoded({ max_tokens, reasoning_effort: 'low' });
    expect(body.thinking).toEqual({ type: 'disabled' });
    expect(ignored).toEqual(['reasoning_effort']);
  });

  it.each(['required', { type: 'function', function: { name: 'roll' } }])(
    'is disabled and reported as ignored when a tool is forced with %j',
    tool_choice => {
      const request = { tools: [roll], parameters: { tool_choice }, reasoning_effort: 'high' };
      expect(encoded(request)).toMatchObject({
        body: { thinking: { type: 'disabled' } },
        ignored: ['reasoning_effort'],
      });
      expect(encoded(request, adaptive)).toMatchObject({
        body: { thinking: { type: 'adaptive' } },
        ignored: [],
      });
    },
  );

  it('is absent unless an effort is requested', () => {
    expect(bodyOf({})).not.toHaveProperty('thinking');
  });
});

describe('the effort of an adaptive model', () => {
  it.each([
    ['none', { thinking: { type: 'disabled' } }],
    ['minimal', { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'low' } }],
    ['low', { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'low' } }],
    ['max', { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'max' } }],
  ])('is sent for the level %s', (reasoning_effort, fields) => {
    const {
      model: _,
      max_tokens: __,
      messages: ___,
      ...rest
    } = bodyOf({ reasoning_effort, max_tokens: 10 }, adaptive);
    expect(rest).toEqual(fields);
  });
});

describe('the configured effort map of a model', () => {
  it('is sent as configured, with budgets limited to the cap', () => {
    const effortMap = {
      low: { thinking: { type: 'enabled', budget_tokens: 500, display: 'omitted' } },
      high: { thinking: { type: 'enabled', budget_tokens: 60_000 }, service_tier: 'standard_only' },
      max: { output_config: { effort: 'xhigh' } },
    };
    const of = (reasoning_effort: string) => bodyOf({ reasoning_effort }, { ...budgeted, effortMap });
    expect(of('low')).toMatchObject({
      thinking: { type: 'enabled', budget_tokens: 1024, display: 'omitted' },
    });
    expect(of('high')).toMatchObject({
      thinking: { type: 'enabled', budget_tokens: 26_214 },
      service_tier: 'standard_only',
    });
    expect(of('max')).toMatchObject({ output_config: { effort: 'xhigh' } });
    expect(of('max')).not.toHaveProperty('thinking');
  });
});

describe('model traits', () => {
  it.each([
    ['claude-3-7-sonnet-20250219', 'budget', true],
    ['claude-opus-4-20250514', 'budget', true],
    ['claude-opus-4-0', 'budget', true],
    ['claude-opus-4-1-20250805', 'budget', true],
    ['claude-sonnet-4-5', 'budget', true],
    ['claude-haiku-4-5-20251001', 'budget', true],
    ['anthropic.claude-sonnet-4-5-20250929-v1:0', 'budget', true],
    ['claude-sonnet-4-5@20250929', 'budget', true],
    ['claude-3-5-haiku-latest', 'budget', true],
    ['claude-opus-4-6', 'adaptive', true],
    ['claude-sonnet-4-6', 'adaptive', true],
    ['claude-opus-4-7', 'adaptive', false],
    ['claude-opus-4-8', 'adaptive', false],
    ['claude-opus-5', 'adaptive', false],
    ['anthropic.claude-sonnet-5', 'adaptive', false],
    ['claude-fable-5-1', 'adaptive', false],
    ['glm-4.7', 'budget', true],
    ['MiniMax-M2', 'budget', true],
  ])('are derived from the name %s: thinking %s, sampling %s', (model, thinking, sampling) => {
    expect(traitsOf(model, 'auto')).toEqual({ thinking, sampling });
  });

  it('are overridden by the configuration', () => {
    expect(traitsOf('claude-opus-5', 'budget').thinking).toBe('budget');
    expect(traitsOf('glm-4.7', 'adaptive').thinking).toBe('adaptive');
  });
});
