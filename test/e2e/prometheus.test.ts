import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { annotations } from '../../grafana/src/annotations.ts';
import { boards } from '../../grafana/src/boards.ts';
import { type Expr, of, perSecond, promql, rate } from '../../grafana/src/promql.ts';
import { defaultModels } from '../../src/config/example-models.ts';
import { type FaultyService, startFaultyService } from '../support/faulty-load.ts';
import { startGateway } from '../support/gateway-under-test.ts';
import { allSelected, filled, type Variables } from '../support/grafana-variables.ts';
import { PrometheusServer, promtool } from '../support/prometheus.ts';
import { until } from '../support/until.ts';
import { type CaseResult, runCases } from '../tools/alerts/alert-run.ts';
import { allCases, worstCases } from '../tools/alerts/all-cases.ts';

/** The rules of the alerts and the queries of the dashboards, in a real Prometheus. Everything runs at the same time: it waits more than it computes. */

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
/** A moment of the load at which Prometheus had both processes. */
let end_s = 0;
/** What each query has answered: its first answer with values, since not all have them at one moment of a slow machine, or else its last. */
const answers = new Map<Expr, readonly { readonly value: number }[]>();
const cases = allCases.filter(({ job }) => worstCases.includes(job));
let results: readonly CaseResult[] = [];
let ruleTests = { code: -1, output: '' };

/** A process that is not sluice, in the same Prometheus. */
async function startForeignExporter(): Promise<string> {
  const path = fileURLToPath(new URL('../support/foreign-exporter.ts', import.meta.url));
  foreign = fork(path, { execArgv: [] });
  const [url] = await once(foreign, 'message');
  return url as string;
}

const hasValue = ({ value }: { readonly value: number }) => Number.isFinite(value);

const valuesOf = async (expr: Expr, values = variables, at_s = end_s) =>
  (await prometheus!.query(filled(expr, values), at_s)).map(({ metric, value }) => ({
    ...metric,
    value: Number(value?.[1]),
  }));

const asked = [
  ...queries.map(([, expr]) => ({ expr, interval: {} })),
  // The events of the last half minute.
  ...annotations.map(({ expr }) => ({ expr, interval: { __rate_interval: '30s' } })),
];

interface RuleTest {
  readonly name: string;
  readonly input_series?: readonly { readonly series: string; readonly values: string }[];
  readonly promql_expr_test: readonly {
    readonly expr: string;
    readonly eval_time: string;
    readonly exp_samples: readonly { readonly labels: string; readonly value: number }[];
  }[];
}

/**
 * The shipped cases with jobs of their own and in one, so that promtool evaluates the rules once at each time, and not once for each case.
 * Those stay alone that are of no series at all, or take a day.
 */
function allAtOnce(): string {
  const folder = new URL('../../grafana/alerts/', import.meta.url);
  const { tests, ...rest } = parse(readFileSync(new URL('sluice.rules.test.yaml', folder), 'utf8')) as {
    tests: RuleTest[];
  };
  const [alone, together] = [true, false].map(isAlone =>
    tests.filter(({ name }) => name.includes('SluiceAbsent') === isAlone),
  );
  const moved = together!.map(({ name, input_series = [], promql_expr_test }) => {
    const job = name.replaceAll(/\W+/g, '-');
    const ofJob = (text: string) => text.replaceAll('job="', `job="${job}/`);
    return {
      input_series: input_series.map(one => ({ ...one, series: ofJob(one.series) })),
      promql_expr_test: promql_expr_test.map(({ expr, exp_samples, ...one }) => ({
        ...one,
        expr: expr.replace('ALERTS{', `ALERTS{job=~"${job}/.+",`),
        exp_samples: exp_samples.map(sample => ({ ...sample, labels: ofJob(sample.labels) })),
      })),
    };
  });
  const merged = {
    interval: '1m',
    input_series: moved.flatMap(({ input_series }) => input_series),
    promql_expr_test: moved.flatMap(({ promql_expr_test }) => promql_expr_test),
  };
  const rule_files = [fileURLToPath(new URL('sluice.rules.yaml', folder))];
  return stringify({ ...rest, rule_files, tests: [...alone!, merged] });
}

async function testRules(): Promise<typeof ruleTests> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-rules-'));
  const file = join(folder, 'rules.test.yaml');
  await writeFile(file, allAtOnce());
  const result = await promtool(['test', 'rules', file]);
  await rm(folder, { recursive: true });
  return result;
}

/** A gateway under load with faults, until Prometheus has seen all of it: what fills a series takes longer on a busy machine. */
async function loadService(): Promise<void> {
  const [started, other] = await Promise.all([startFaultyService(), startForeignExporter()]);
  service = started;
  prometheus = await PrometheusServer.start([service.gateway.adminUrl], [other]);
  const sending = new AbortController();
  const load = service.load(sending.signal);
  // What stays empty fails as a test of its own.
  await until(everyQueryHasValues, 90_000).catch(() => {});
  sending.abort();
  await load;
}

const cpu = perSecond(of('process_cpu_seconds_total'));
/** CPU of the gateway, and of the process that is not sluice. */
const cpuOfAll = (at_s = end_s) => valuesOf(cpu, { ...variables, job: '.*', instance: '.*' }, at_s);

/** When Prometheus was asked last. */
let asked_s = 0;

/** Asks what has had no values yet, now; true once nothing is left of that. */
async function everyQueryHasValues(): Promise<boolean> {
  const now_s = Date.now() / 1000;
  // It scrapes once a second: sooner it has nothing new, and to evaluate a hundred queries takes CPU time from the gateway.
  if (now_s - asked_s < 1) return false;
  asked_s = now_s;
  variables = await allSelected(prometheus!);
  if ((await cpuOfAll(now_s)).length === 2) end_s = now_s;
  let missing = end_s === 0;
  for (const { expr, interval } of asked) {
    if (answers.get(expr)?.some(hasValue)) continue;
    const values = await valuesOf(expr, { ...variables, ...interval }, now_s);
    answers.set(expr, values);
    missing ||= !values.some(hasValue);
  }
  return !missing;
}

beforeAll(async () => {
  [ruleTests] = await Promise.all([testRules(), loadService()]);
  results = await runCases(cases);
}, 300_000);
afterAll(async () => {
  foreign?.disconnect();
  await prometheus?.close();
  await service?.close();
});

describe('Grafana queries against Prometheus under load with faults', () => {
  it.each(queries)('return data: %s', (_, expr) => {
    expect(answers.get(expr)?.filter(hasValue)).not.toHaveLength(0);
  });

  it.each(annotations.map(({ name, expr }) => [name, expr] as const))(
    'return events for the annotation %s',
    (_, expr) => {
      expect(answers.get(expr)?.filter(hasValue)).not.toHaveLength(0);
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
    expect(await cpuOfAll()).toHaveLength(2);
    expect(await valuesOf(cpu)).toHaveLength(1);
    // What shows something although no process is selected shows it of every process.
    const of_none = { ...variables, job: 'none' };
    const seen: string[] = [];
    for (const [name, expr] of [...queries, ...annotations.map(({ name, expr }) => [name, expr] as const)]) {
      // Alerts that are of no job are everybody's.
      const isEverybodys = expr.includes('job=~"$job|"');
      if (!isEverybodys && (await valuesOf(expr, of_none)).some(({ value }) => value > 0)) seen.push(name);
    }
    expect(seen).toEqual([]);
  });
});

describe('promtool', () => {
  it('accepts the alert rules', async () => {
    const { code, output } = await promtool(['check', 'rules', 'grafana/alerts/sluice.rules.yaml']);
    expect([code, output]).toEqual([0, expect.stringMatching(/SUCCESS: \d\d rules found/)]);
  });

  it('passes the unit tests of every alert', () => {
    expect(ruleTests).toEqual({ code: 0, output: expect.stringContaining('SUCCESS') });
  });

  it('accepts the metric names', async () => {
    const gateway = await startGateway({
      upstream: 'http://127.0.0.1:9/v1',
      config: { metrics: { account_label: true } },
    });
    const text = await gateway.metrics();
    await gateway.close();
    // Of prom-client's own metrics it has things to say.
    const own = text.split('\n\n').filter(family => /^# HELP (?:sluice|gen_ai)_/.test(family));
    expect(own.length).toBeGreaterThan(30);
    expect(await promtool(['check', 'metrics'], `${own.join('\n')}\n`)).toEqual({ code: 0, output: '' });
  });
});

describe('the alerts, in a real Prometheus with short times', () => {
  it.each(cases)('are quiet, fire and are resolved as they must: $what', ({ job }) => {
    expect(results.find(result => result.job === job)?.faults).toEqual([]);
  });
});
