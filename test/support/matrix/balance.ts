import { expect } from '@jest/globals';
import type { Registry } from 'prom-client';
import { defaultModels } from '../../../src/config/example-models.ts';
import type { Outcome } from '../../../src/plugin.ts';
import type { LedgerEntry } from '../../fixtures/stages/ledger.ts';

/** Expects every record to cost exactly what its tokens do and to be unchanged since; metrics and records must agree. */
export async function expectBalance(registry: Registry, entries: readonly LedgerEntry[]): Promise<void> {
  for (const { outcome, asTold } of entries) {
    expect(outcome).toEqual(asTold);
    expect(picoDollars(outcome.cost_usd)).toBe(costOf(outcome));
  }
  const sample = async (name: string) => (await registry.getSingleMetric(name)!.get()).values;
  const outcomes = entries.map(({ outcome }) => outcome);
  const counted = sums(outcomes, ({ endpoint, model, status, end_reason, error_type }) => [
    [`${endpoint} ${model ?? '_other'} ${status} ${end_reason} ${error_type ?? ''}`, 1],
  ]);
  const ended = (await sample('sluice_requests_total')).filter(({ value }) => value > 0);
  expect(
    sums(ended, ({ labels: l, value }) => [
      [`${l.endpoint} ${l.gen_ai_request_model} ${l.status} ${l.end_reason} ${l.error_type}`, value],
    ]),
  ).toEqual(counted);
  const tokens = sums(outcomes, ({ usage }) => {
    const source = usage.estimated ? 'estimated' : 'exact';
    const kinds = {
      input: usage.prompt_tokens,
      cached: usage.cached_tokens,
      output: usage.completion_tokens,
    };
    return Object.entries(kinds).flatMap(([kind, value]) =>
      value > 0 ? [[`${kind} ${source}`, value]] : [],
    );
  });
  expect(
    sums(await sample('sluice_tokens_total'), ({ labels, value }) => [
      [`${labels.kind} ${labels.source}`, value],
    ]),
  ).toEqual(tokens);
  const total = (samples: readonly { value: number }[]) => samples.reduce((sum, { value }) => sum + value, 0);
  const costs = outcomes.reduce((sum, { cost_usd }) => sum + Number(cost_usd), 0);
  expect(total(await sample('sluice_cost_usd_total'))).toBeCloseTo(costs, 10);
  for (const { labels, value } of await sample('sluice_in_flight'))
    expect([labels, value]).toEqual([labels, 0]);
  if (registry.getSingleMetric('sluice_background_reads'))
    expect(total(await sample('sluice_background_reads'))).toBe(0);
}

/** Values added up by name. */
function sums<T>(
  items: readonly T[],
  entriesOf: (item: T) => (readonly [string, number] | (string | number)[])[],
) {
  const result: Record<string, number> = {};
  for (const item of items)
    for (const [name, value] of entriesOf(item))
      result[String(name)] = (result[String(name)] ?? 0) + Number(value);
  return result;
}

/** A decimal string of dollars in units of 10^-12; no price has more places. */
function picoDollars(decimal: string): bigint {
  const [whole = '', fraction = ''] = decimal.split('.');
  expect(fraction.length).toBeLessThanOrEqual(12);
  return BigInt(whole + fraction.padEnd(12, '0'));
}

/** What the record's tokens cost in the example catalog. */
function costOf({ model, usage }: Outcome): bigint {
  const pricing = defaultModels('any').find(({ id }) => id === model)?.pricing;
  if (!pricing) return 0n;
  const price = (name: 'prompt' | 'completion' | 'input_cache_read') =>
    picoDollars((pricing as Partial<Record<typeof name, string>>)[name] ?? pricing.prompt);
  const cached = BigInt(usage.cached_tokens);
  return (
    (BigInt(usage.prompt_tokens) - cached) * price('prompt') +
    cached * price('input_cache_read') +
    BigInt(usage.completion_tokens) * price('completion')
  );
}
