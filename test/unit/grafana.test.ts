import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { annotations } from '../../grafana/src/annotations.ts';
import { boards } from '../../grafana/src/boards.ts';
import { queriesOf } from '../../grafana/src/dashboard.ts';
import { layout } from '../../grafana/src/layout.ts';
import { promql } from '../../grafana/src/promql.ts';
import { endMatchers, failed, letIn } from '../../grafana/src/requests.ts';
import { dashboardFiles } from '../../grafana/src/write.ts';
import {
  classOfType,
  endClassOf,
  endReasons,
  errorClasses,
  errorNameOf,
  isErrorClass,
} from '../../src/common/end-class.ts';
import { alertRules, namedPanels } from '../support/documents/alerts-page.ts';

const panels = boards.flatMap(({ uid, rows }) =>
  rows.flatMap(row => row.panels.map(panel => ({ board: uid, ...panel }))),
);
const queries = [...boards.flatMap(queriesOf), ...annotations.map(({ expr }) => expr)];
const root = new URL('../../grafana/', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
/** The label `sluice_provider` is none. */
const ownMetric = /\b(?!sluice_provider\b)(?:sluice|gen_ai_(?:server|client))_[a-z_]+/g;

/** The names of metrics as the table of the reference has them, with those that histograms are queried by. */
function knownMetrics(): Set<string> {
  const rows = read('../docs/reference/metrics.md').matchAll(/^\| `([a-z_]+)` \| (\w+) \|/gm);
  return new Set(
    [...rows].flatMap(([, name = '', type]) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  );
}

const recordingRules = () =>
  (
    parse(read('alerts/sluice.rules.yaml')) as { groups: { rules: { record?: string; expr: string }[] }[] }
  ).groups.flatMap(({ rules }) => rules);

/** Whether a list of matchers fits these labels. */
const fits = (matchers: string, labels: Readonly<Record<string, string>>): boolean =>
  [...matchers.matchAll(/(\w+)(=~|!~|=)"([^"]*)"/g)].every(([, label = '', operator, value = '']) => {
    const isMatch = new RegExp(operator === '=' ? `^${value}$` : `^(?:${value})$`).test(labels[label]!);
    return isMatch === (operator !== '!~');
  });

describe('the Grafana dashboards', () => {
  it('count every end in the class that the dashboard and the ledger count it in, and once', () => {
    for (const end_reason of endReasons)
      for (const error_type of [...Object.keys(classOfType), 'of_a_plugin', ''])
        for (const status of [200, 400, 403, 503]) {
          const labels = { end_reason, error_type, status: String(status) };
          const fitting = errorClasses.flatMap(name =>
            endMatchers(name).flatMap(matchers => (fits(matchers, labels) ? name : [])),
          );
          const end = endClassOf(end_reason, errorNameOf(error_type || undefined, status));
          expect([labels, fitting]).toEqual([labels, isErrorClass(end) ? [end] : []]);
        }
  });

  it('match what the code generates (npm run docs)', () => {
    const files = dashboardFiles();
    expect(files.size).toBe(boards.length);
    for (const [path, text] of files) expect(readFileSync(path, 'utf8')).toBe(text);
  });

  it('query only metrics that exist', () => {
    const known = knownMetrics();
    expect(known.size).toBeGreaterThan(50);
    const asked = queries.flatMap(expr => expr.match(ownMetric) ?? []);
    expect(asked.filter(name => !known.has(name))).toEqual([]);
  });

  it('use every metric of the table', () => {
    const asked = queries.join(' ') + read('alerts/sluice.rules.yaml');
    const names = [...read('../docs/reference/metrics.md').matchAll(/^\| `([a-z_]+)` \|/gm)].map(
      ([, name = '']) => name,
    );
    expect(names.filter(name => !asked.includes(name))).toEqual([]);
  });

  it('count failures and requests let in as the recording rules of the alerts do', () => {
    const [job, all] = ['job=~"$job",instance=~"$instance",', 'gen_ai_request_model=~"$model",'];
    const plain = (expr: string) =>
      expr
        .replaceAll(job + all, '')
        .replaceAll('$__rate_interval', '5m')
        .replace(/^sum/, '')
        .replaceAll(/\s/g, '');
    for (const [record, expr] of [
      ['sluice:model_requests_failed:rate5m', failed],
      ['sluice:model_requests_admitted:rate5m', letIn],
    ] as const) {
      const rule = recordingRules().find(found => found.record === record);
      expect(plain(expr)).toBe(plain(rule!.expr.replace('sum by (job, gen_ai_request_model)', 'sum')));
    }
  });

  it('have the panels that the alerts name', () => {
    const named = alertRules.flatMap(({ annotations: { description, action } }) => [
      ...`${description} ${action}`.matchAll(namedPanels),
    ]);
    expect(named.length).toBeGreaterThan(5);
    for (const [, title, ...those] of named) {
      const board = boards.find(found => found.title === title);
      const titles = board?.rows.flatMap(row => row.panels.map(panel => panel.title)) ?? [];
      for (const panel of those.filter(name => name !== undefined))
        expect([title, panel, titles]).toEqual([
          title,
          panel,
          expect.arrayContaining([expect.stringContaining(panel)]),
        ]);
    }
  });

  it('select the processes that are shown in every selector of every query', () => {
    for (const expr of queries) {
      const metrics = expr
        .replaceAll(/\{[^}]*\}/g, '{}')
        .replaceAll(/\b(?:by|on) \([^)]*\)/g, '')
        .match(/\b(?:up\b|(?:sluice|gen_ai|process|nodejs)_\w+)/g);
      const selectors = expr.match(/\b\w+\{job=~"\$job",instance=~"\$instance"[,}]/g);
      expect([expr, selectors?.length]).toEqual([expr, metrics?.length]);
    }
    expect(() => promql`sum(process_cpu_seconds_total)`).toThrow(
      'process_cpu_seconds_total selects no processes',
    );
  });

  it('have an id of its own for every panel and row, and a place on the grid that no other has', () => {
    for (const { uid, rows, traces = [], logs = [] } of boards) {
      const ids = [...traces, ...logs, ...rows.flatMap(row => [row.id, ...row.panels.map(({ id }) => id)])];
      expect([uid, new Set(ids).size]).toEqual([uid, ids.length]);
      const cells = [...layout(rows).values()].flatMap(({ x, y, w, h }) =>
        Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
      );
      expect([uid, new Set(cells).size]).toEqual([uid, cells.length]);
      expect(Math.max(...cells.map(cell => Number(cell.split(',')[0])))).toBe(23);
    }
  });

  it.each(panels.map(panel => [`${panel.board}: ${panel.title}`, panel] as const))(
    'describe the panel %s',
    (_, panel) => {
      expect(panel.description).toMatch(/^\S.{15,}[.]$/s);
      expect(panel.unit).not.toBe('');
      expect(Object.keys(panel.queries)).not.toContain('');
      if (panel.leadsTo !== undefined) expect(boards.map(({ uid }) => uid)).toContain(panel.leadsTo);
    },
  );

  it('have no two panels with the same title', () => {
    for (const { uid, rows } of boards) {
      const titles = rows.flatMap(row => row.panels.map(({ title }) => title));
      expect([uid, titles]).toEqual([uid, [...new Set(titles)]]);
    }
  });
});
