import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { failedReasons } from '../../src/common/end-class.ts';
import { alertRules } from '../support/documents/alerts-page.ts';
import { allCases, worstCases } from '../tools/alerts/all-cases.ts';
import { type AlertLabels, inhibitRules, notices } from '../tools/alerts/inhibition.ts';

interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
}
interface RuleTest {
  readonly name: string;
  readonly promql_expr_test: readonly { readonly exp_samples: readonly { readonly labels: string }[] }[];
}

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const { groups } = parse(read('grafana/alerts/sluice.rules.yaml')) as { groups: { rules: Rule[] }[] };
const { tests } = parse(read('grafana/alerts/sluice.rules.test.yaml')) as { tests: RuleTest[] };
const rules = groups.flatMap(group => group.rules);
const alerts = alertRules;
const names = alerts.map(({ alert }) => alert);
const page = read('docs/reference/alerts.md');

describe('the Prometheus rules', () => {
  it('query only metrics that exist', () => {
    const rows = [...read('docs/reference/metrics.md').matchAll(/^\| `([a-z_]+)` \| (\w+) \|/gm)];
    const known = rows.flatMap(([, name = '', type]) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    );
    const asked = rules.flatMap(
      ({ expr }) => expr.match(/\b(?!sluice_provider\b)(?:sluice|gen_ai_(?:server|client))_[a-z_]+/g) ?? [],
    );
    expect(asked.length).toBeGreaterThan(50);
    expect(asked.filter(name => !known.includes(name))).toEqual([]);
  });

  it('query only recorded series that a rule records, and record none in vain', () => {
    const recorded = rules.flatMap(({ record }) => record ?? []);
    const asked = new Set(rules.flatMap(({ expr }) => expr.match(/\bsluice:[\w:]+/g) ?? []));
    expect([...asked].filter(name => !recorded.includes(name))).toEqual([]);
    expect(recorded.filter(name => !asked.has(name))).toEqual([]);
  });

  it('count requests in the same way in every window', () => {
    const byWindow = new Map<string, string[]>();
    for (const { record, expr } of rules) {
      const window = /^sluice:.*_(?:admitted|failed):(?:ratio_)?rate(\w+)$/.exec(record ?? '')?.[1];
      if (window === undefined) continue;
      const form = `${record} ${expr}`.replaceAll(`rate${window}`, 'rateW').replaceAll(`[${window}]`, '[W]');
      byWindow.set(window, [...(byWindow.get(window) ?? []), form]);
    }
    expect([...byWindow.keys()]).toEqual(['5m', '30m', '1h', '2h', '6h', '1d', '3d']);
    for (const forms of byWindow.values()) expect(forms).toEqual(byWindow.get('5m'));
  });

  it('count as failed the ends that are failures whatever their error', () => {
    const counted = rules.flatMap(({ expr }) => expr.match(/end_reason=~"[^"]+"/g) ?? []);
    expect(counted.length).toBeGreaterThan(4);
    expect(new Set(counted)).toEqual(new Set([`end_reason=~"${failedReasons.join('|')}"`]));
  });

  it('name no job, so that they hold wherever a process has sluice_build_info', () => {
    expect(rules.filter(({ expr }) => /\b(?:job|instance)[=!]/.test(expr))).toEqual([]);
    const foreign = alerts.filter(({ expr }) => /\b(?:up|process_|nodejs_)/.test(expr));
    expect(foreign.length).toBeGreaterThan(2);
    for (const { expr } of foreign) expect(expr).toMatch(/on \(job, instance\).*sluice[_:]/s);
  });
});

describe('the Prometheus alerts', () => {
  it('say how urgent each is, when it fires, who feels it, what to do, and where to read on', () => {
    const sentences = expect.stringMatching(/^\S.*\.$/);
    for (const { alert, labels, annotations } of alertRules) {
      expect([alert, labels.severity]).toEqual([alert, expect.stringMatching(/^(?:page|ticket)$/)]);
      expect(annotations).toEqual({
        summary: expect.stringMatching(/./),
        condition: sentences,
        description: sentences,
        action: sentences,
        runbook_url: `docs/reference/alerts.md#${alert.toLowerCase()}`,
      });
    }
  });

  it('have one section each in the runbook, in the same order, with the same severity', () => {
    const sections = [...page.matchAll(/^### (Sluice\w+)\n\n(Page|Ticket)\b/gm)];
    expect(sections.map(([, name, severity]) => [name, severity?.toLowerCase()])).toEqual(
      alertRules.map(({ alert, labels }) => [alert, labels.severity]),
    );
  });

  it('are called by names that exist, wherever the runbook names one', () => {
    expect([...new Set(page.match(/\bSluice[A-Z]\w+/g))].filter(name => !names.includes(name))).toEqual([]);
  });

  it.each(names)('are seen quiet, firing and quiet again by promtool: %s', name => {
    const seen = tests.map(({ promql_expr_test: checks }) =>
      checks.map(({ exp_samples }) => exp_samples.some(({ labels }) => labels.includes(`"${name}"`))),
    );
    expect(seen.some(fires => !fires[0] && fires.includes(true) && !fires.at(-1))).toBe(true);
  });

  it('are provoked on real processes by npm run drill -- alerts, except those that say why not', () => {
    const provoked = allCases.flatMap(({ alerts }) => alerts);
    expect([...new Set(provoked)].sort()).toEqual(names.toSorted());
    expect(worstCases.filter(job => !allCases.some(one => one.job === job))).toEqual([]);
  });
});

describe('the inhibit rules', () => {
  const severities = new Map(alerts.map(({ alert, labels }) => [alert, labels?.severity]));
  const namedBy = (matchers: readonly string[]) => matchers.join().match(/Sluice\w+/g) ?? [];

  it('name alerts that exist, and never silence a page for a ticket', () => {
    for (const { source_matchers, target_matchers } of inhibitRules) {
      const [sources, targets] = [namedBy(source_matchers), namedBy(target_matchers)];
      expect([sources.length > 0, targets.length > 0]).toEqual([true, true]);
      expect([...sources, ...targets].filter(name => !names.includes(name))).toEqual([]);
      if (targets.some(name => severities.get(name) === 'page'))
        expect(sources.map(name => severities.get(name))).toEqual(sources.map(() => 'page'));
    }
  });

  it.each(tests.filter(({ name }) => name.startsWith('One notice: ')))(
    'leave one notice at every time of what promtool sees: $name',
    ({ promql_expr_test: checks }) => {
      const seen = checks.map(({ exp_samples }) => exp_samples.map(({ labels }) => labelsOf(labels)));
      expect(seen.some(firing => firing.length > 0)).toBe(true);
      for (const firing of seen.filter(({ length }) => length > 0)) {
        const groups = notices(firing).map(({ alertname, job }) => `${job} ${alertname}`);
        expect([...new Set(groups)]).toHaveLength(1);
      }
    },
  );

  it.each([
    ['a store', ['SluiceStoreOut', 'SluiceLedgerBehind', 'SluiceOverhead']],
    ['a service that is gone', ['SluiceAbsent', 'SluiceDown']],
    ['a crash loop', ['SluiceRestarts', 'SluiceDown']],
    ['a blocked process', ['SluiceEventLoopLate', 'SluiceOverhead']],
    ['a certificate', ['SluiceCertificateEndsSoon', 'SluiceCertificateEnds']],
  ])('leave one notice of %s, and none of them silences another job', (_, [cause, ...rest]) => {
    const of = (job: string, alertname: string) => ({ alertname: alertname!, job, instance: 'a' });
    const [first, ...more] = [cause, ...rest].map(name => of('one', name!));
    const elsewhere = rest.map(name => of('two', name));
    expect(notices([first!, ...more, ...elsewhere])).toEqual([first, ...elsewhere]);
  });
});

/** Of `NAME{label="value",…}`. */
const labelsOf = (series: string): AlertLabels =>
  Object.fromEntries([...series.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, value]) => [label!, value!]));
