import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  type Sample,
  UsageAverage,
  UsageForecast,
} from '../../../../../plugins/stages/rate-limit/usage-forecast.ts';

const sample = (completion: number, more: Partial<Sample> = {}): Sample => ({
  estimated_prompt: 0,
  prompt: 0,
  completion,
  choices: 1,
  isCut: false,
  ...more,
});

const learnt = (...completions: readonly number[]): UsageAverage => {
  const habit = new UsageAverage(500);
  for (const completion of completions) habit.learn(sample(completion));
  return habit;
};

describe('the usage average', () => {
  it('starts at the configured value before the first completion', () => {
    expect(new UsageAverage(500).completion).toBe(500);
    expect(learnt(0).completion).toBe(500);
  });

  it('stays slightly above the mean of equal completions', () => {
    const { completion } = learnt(...Array<number>(50).fill(200));
    expect(completion).toBeGreaterThanOrEqual(200);
    expect(completion).toBeLessThan(210);
  });

  it('stays above most of completions that differ', () => {
    const lengths = Array.from({ length: 400 }, (_, at) => 50 + ((at * 7919) % 900));
    const { completion } = learnt(...lengths);
    const share = lengths.filter(length => length <= completion).length / lengths.length;
    expect(share).toBeGreaterThan(0.6);
    expect(share).toBeLessThan(0.98);
  });

  it('follows a change within a few dozen completions', () => {
    const habit = learnt(...Array<number>(100).fill(2000));
    for (let at = 0; at < 40; at++) habit.learn(sample(100));
    expect(habit.completion).toBeLessThan(300);
  });

  it('exceeds the observed range by at most the width of that range', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 100_000 }), { minLength: 1 }), completions => {
        const { completion } = learnt(...completions);
        const most = Math.max(...completions);
        const least = Math.min(...completions);
        expect(completion).toBeGreaterThanOrEqual(least);
        expect(completion).toBeLessThanOrEqual(Math.ceil(most + Math.max(most - least, most / 2)));
      }),
    );
  });

  it('is per choice', () => {
    const habit = new UsageAverage(500);
    for (let at = 0; at < 50; at++) habit.learn(sample(800, { choices: 4 }));
    expect(habit.completion).toBeLessThan(210);
  });

  it('takes from truncated completions only that others are longer', () => {
    const habit = learnt(...Array<number>(50).fill(500));
    for (let at = 0; at < 50; at++) habit.learn(sample(1, { isCut: true }));
    expect(habit.completion).toBeGreaterThanOrEqual(500);
    for (let at = 0; at < 50; at++) habit.learn(sample(900, { isCut: true }));
    expect(habit.completion).toBeGreaterThan(850);
  });

  it('ignores a truncated first completion unless it is longer than expected', () => {
    const habit = new UsageAverage(500);
    habit.learn(sample(1, { isCut: true }));
    expect(habit.completion).toBe(500);
    habit.learn(sample(8000, { isCut: true }));
    expect(habit.completion).toBe(12_000);
  });

  it('corrects prompt estimates within bounds', () => {
    const habit = new UsageAverage(500);
    expect(habit.prompt_ratio).toBe(1);
    for (let at = 0; at < 60; at++) habit.learn(sample(1, { estimated_prompt: 100, prompt: 150 }));
    expect(habit.prompt_ratio).toBeCloseTo(1.5, 2);
    for (let at = 0; at < 100; at++) habit.learn(sample(1, { estimated_prompt: 1, prompt: 1_000_000 }));
    expect(habit.prompt_ratio).toBeLessThanOrEqual(4);
    const before = habit.prompt_ratio;
    habit.learn(sample(1, { estimated_prompt: 100, prompt: 0 }));
    expect(habit.prompt_ratio).toBe(before);
  });
});

describe('the usage forecast', () => {
  it('knows nothing of an account by the usage of another, nor by that of another model', () => {
    const forecast = new UsageForecast(500);
    for (let at = 0; at < 40; at++) forecast.learn('a', 'm', sample(1));
    expect(forecast.of('a', 'm').completion).toBeLessThan(5);
    expect(forecast.of('b', 'm').completion).toBe(500);
    expect(forecast.of('a', 'other').completion).toBe(500);
    forecast.learn('b', 'm', sample(1, { isCut: true }));
    expect(forecast.of('b', 'm').completion).toBe(500);
  });

  it('keeps at most ten thousand accounts per model, the newest', () => {
    const forecast = new UsageForecast(500);
    forecast.learn('first', 'm', sample(100_000));
    for (let at = 0; at < 10_000; at++) forecast.learn(`account-${at}`, 'm', sample(10));
    expect(forecast.of('first', 'm').completion).toBe(500);
    expect(forecast.of('account-0', 'm').completion).toBe(15);
    expect(forecast.of('account-9999', 'm').completion).toBe(15);
  });
});
