import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { boards } from '../../grafana/src/boards.ts';
import { defaultModels } from '../../src/catalog/default-models.ts';
import { type FaultyService, startFaultyService } from '../support/faulty-load.ts';
import { PrometheusServer } from '../support/prometheus.ts';

/** Grafana's variables as they stand when everything is selected. */
const filled = (expr: string): string =>
  expr.replaceAll('$__rate_interval', '10s').replaceAll('"$model"', '".*"').replaceAll('"$provider"', '".*"');

interface Rule {
  readonly alert: string;
  readonly expr: string;
}
const file = new URL('../../grafana/alerts/sluice.rules.yaml', import.meta.url);
const rules = (parse(readFileSync(file, 'utf8')) as { groups: { rules: Rule[] }[] }).groups[0]!.rules;

/** What an alert compares, without the comparison: that must have data also while all is well. */
const compared = (expr: string): string =>
  expr.replace(/\s(?:>|==)\s[\d.]+\s*$/, '').replaceAll(/\[\d+m\]/g, '[10s]');

const queries = boards.flatMap(({ title, rows }) =>
  rows.flatMap(({ panels }) =>
    panels.flatMap(panel =>
      panel.queries.map(({ expr, legend }) => [`${title}, ${panel.title}: ${legend}`, filled(expr)] as const),
    ),
  ),
);
let service: FaultyService | undefined;
let prometheus: PrometheusServer | undefined;

beforeAll(async () => {
  service = await startFaultyService();
  prometheus = await PrometheusServer.start([service.gateway.adminUrl]);
  await service.load(14);
}, 60_000);
afterAll(async () => {
  await prometheus?.close();
  await service?.close();
});

describe('Grafana queries against Prometheus under load with faults', () => {
  it.each(queries)('return data: %s', async (_, expr) => {
    const series = await prometheus!.query(expr);
    expect(series.length).toBeGreaterThan(0);
    expect(series.some(({ value }) => Number.isFinite(Number(value?.[1])))).toBe(true);
  });

  it.each(rules.map(({ alert, expr }) => [alert, compared(expr)] as const))(
    'return a value to compare for the alert %s',
    async (_, expr) => {
      expect((await prometheus!.query(expr)).length).toBeGreaterThan(0);
    },
  );

  it('return values for every variable', async () => {
    const models = await prometheus!.query('count by (gen_ai_request_model) (sluice_requests_total)');
    expect(models.map(({ metric }) => metric.gen_ai_request_model).sort()).toEqual(
      ['_other', ...defaultModels('flaky').map(({ id }) => id)].sort(),
    );
    const providers = await prometheus!.query(
      'count by (sluice_provider) (gen_ai_client_operation_duration_seconds_count)',
    );
    expect(providers.map(({ metric }) => metric.sluice_provider).sort()).toEqual(['flaky', 'sound']);
  });
});
