import type { Registry } from 'prom-client';

interface Described {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labelNames?: readonly string[];
}

/** The metrics on `registry` as a table in Markdown. */
export function metricsTable(registry: Registry): string {
  const metrics = registry.getMetricsAsArray() as unknown as Described[];
  const rows = metrics
    .toSorted((a, b) => a.name.localeCompare(b.name))
    .map(({ name, help, type, labelNames = [] }) => {
      const labels = labelNames.map(label => `\`${label}\``).join(', ');
      return `| \`${name}\` | ${type} | ${labels} | ${help} |`;
    });
  return ['| metric | type | labels | |', '|---|---|---|---|', ...rows].join('\n');
}
