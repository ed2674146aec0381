import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { annotations } from '../../grafana/src/annotations.ts';
import { boards } from '../../grafana/src/boards.ts';
import { type Expr, of, perSecond, promql, rate } from '../../grafana/src/promql.ts';
import { defaultModels } from '../../src/config/example-models.ts';
import { type FaultyService, startFaultyService } from '../support/faulty-load.ts';
import { allSelected, filled, type Variables } from '../support/grafana-variables.ts';
import { PrometheusServer } from '../support/prometheus.ts';

const panels = boards.flatMap(({ title, rows }) =>
  rows.flatMap(row => row.panels.map(panel => [`${title}, ${panel.title}`, panel] as const)),
);
const queries = panels.flatMap(([name, panel]) =>
  Object.entries(panel.queries).map(([legend, expr]) => [`${name}: ${legend}`, expr] as const),
);
let service: FaultyService | undefined;
let prometheus: PrometheusServer | undefined;
let foreign: ChildProcess | undefined;
let variables: Variables = {};
/** The end of the load: a slow machine asks the last query long after it. */
let end_s = 0;

/** A process of somebody else, in the same Prometheus. */
async function startForeignExporter(): Promise<string> {
  const path = fileURLToPath(new URL('../support/foreign-exporter.ts', import.meta.url));
  foreign = fork(path, { execArgv: [] });
  const [url] = await once(foreign, 'message');
  return url as string;
}

const valuesOf = async (expr: Expr, values = variables) =>
  (await prometheus!.query(filled(expr, values), end_s)).map(({ metric, value }) => ({
    ...metric,
    value: Number(value?.[1]),
  }));

beforeAll(async () => {
  const [started, other] = await Promise.all([startFaultyService(), startForeignExporter()]);
  service = started;
  prometheus = await PrometheusServer.start([service.gateway.adminUrl], [other]);
  await service.load(14);
  end_s = Date.now() / 1000;
  variables = await allSelected(prometheus);
}, 60_000);
afterAll(async () => {
  foreign?.disconnect();
  await prometheus?.close();
  await service?.close();
});

describe('Grafana queries against Prometheus under load with faults', () => {
  it.each(queries)('return data: %s', async (_, expr) => {
    const series = await valuesOf(expr);
    expect(series.length).toBeGreaterThan(0);
    expect(series.some(({ value }) => Number.isFinite(value))).toBe(true);
  });

  it.each(annotations.map(({ name, expr }) => [name, expr] as const))(
    'return events for the annotation %s',
    async (_, expr) => {
      const of_all_the_load = { ...variables, __rate_interval: '30s' };
      expect((await valuesOf(expr, of_all_the_load)).length).toBeGreaterThan(0);
    },
  );

  it('count each token once in the stack of tokens', async () => {
    const [, { queries: kinds }] = panels.find(([name]) => name === 'Service, Tokens by kind')!;
    const whole = rate(of('sluice_tokens_total', 'kind=~"input|output"'));
    const stack = Object.values(kinds).reduce((sum, kind) => promql`${sum} + ${kind}`);
    const [found] = await valuesOf(promql`(${stack}) / ${whole}`);
    expect(found?.value).toBeCloseTo(1, 5);
  });
});

describe('Grafana variables', () => {
  it('have the values that Prometheus has, and the processes of sluice alone', async () => {
    const ask = (label: string, metric: string) => prometheus!.labelValues(label, metric);
    expect(await ask('gen_ai_request_model', 'sluice_requests_total')).toEqual(
      ['_other', ...defaultModels('flaky').map(({ id }) => id)].sort(),
    );
    expect(await ask('sluice_provider', 'sluice_provider_in_flight')).toEqual(['flaky', 'sound']);
    expect(await ask('job', 'up')).toEqual(['another', 'sluice']);
    const own = new URL(service!.gateway.adminUrl).host.replaceAll('.', '\\\\.');
    expect(variables).toMatchObject({ job: '(sluice)', instance: `(${own})` });
  });

  it('keep the process of another job out of every panel', async () => {
    const cpu = perSecond(of('process_cpu_seconds_total'));
    const of_all = { ...variables, job: '.*', instance: '.*' };
    expect(await valuesOf(cpu, of_all)).toHaveLength(2);
    expect(await valuesOf(cpu)).toHaveLength(1);
    // What shows something although no process is selected shows it of every process.
    const of_none = { ...variables, job: 'none' };
    const seen: string[] = [];
    for (const [name, expr] of [...queries, ...annotations.map(({ name, expr }) => [name, expr] as const)])
      if ((await valuesOf(expr, of_none)).some(({ value }) => value > 0)) seen.push(name);
    expect(seen).toEqual([]);
  });
});
