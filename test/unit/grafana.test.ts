import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { boards } from '../../grafana/src/boards.ts';
import { madeFiles } from '../../grafana/src/write.ts';

const panels = boards.flatMap(({ uid, rows }) =>
  rows.flatMap(row => row.panels.map(panel => ({ board: uid, ...panel }))),
);
const root = new URL('../../grafana/', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
/** The label `sluice_provider` is none. */
const ownMetric = /\b(?!sluice_provider\b)(?:sluice|gen_ai_(?:server|client))_[a-z_]+/g;

/** The names of metrics as the README's table has them, with those that histograms are queried by. */
function knownMetrics(): Set<string> {
  const rows = read('README.md').matchAll(/^\| `([a-z_]+)` \| (\w+) \|/gm);
  return new Set(
    [...rows].flatMap(([, name = '', type]) =>
      type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  );
}

describe('the Grafana dashboards', () => {
  it('and the table of metrics match what the code generates (npm run grafana)', async () => {
    const files = await madeFiles();
    expect(files.size).toBe(boards.length + 1);
    for (const [path, text] of files) expect(readFileSync(path, 'utf8')).toBe(text);
  });

  it('query only metrics that exist', () => {
    const known = knownMetrics();
    expect(known.size).toBeGreaterThan(50);
    const asked = panels.flatMap(({ queries }) => queries.flatMap(({ expr }) => expr.match(ownMetric) ?? []));
    expect(asked.filter(name => !known.has(name))).toEqual([]);
  });

  it('use every metric of the table except versions and counts of an instance', () => {
    const asked =
      panels.flatMap(({ queries }) => queries.map(({ expr }) => expr)).join(' ') +
      read('alerts/sluice.rules.yaml');
    const unused = [...read('README.md').matchAll(/^\| `([a-z_]+)` \|/gm)].filter(
      ([, name = '']) => !asked.includes(name),
    );
    expect(unused.map(([, name]) => name)).toEqual([
      'sluice_breaker_transitions_total',
      'sluice_build_info',
      'sluice_config_loaded_timestamp_seconds',
      'sluice_heap_limit_bytes',
      'sluice_ledger_oldest_row_age_seconds',
      'sluice_memory_limit_bytes',
      'sluice_records_pruned_total',
      'sluice_state_instances',
    ]);
  });

  it.each(panels.map(panel => [`${panel.board}: ${panel.title}`, panel] as const))(
    'describe the panel %s',
    (_, panel) => {
      expect(panel.description).toMatch(/^\S.{15,}[.]$/s);
      expect(panel.unit).not.toBe('');
      for (const { legend } of panel.queries) expect(legend).not.toBe('');
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

describe('the Prometheus alerts', () => {
  it('query only metrics that exist, each with a summary, a severity and a runbook', () => {
    const rules = read('alerts/sluice.rules.yaml');
    const known = knownMetrics();
    expect((rules.match(ownMetric) ?? []).filter(name => !known.has(name))).toEqual([]);
    const count = (text: string) => rules.split(text).length - 1;
    expect([count('summary:'), count('runbook:'), count('severity:')]).toEqual(
      Array(3).fill(count('- alert:')),
    );
  });
});
