import { parse } from 'yaml';
import { inhibitRules } from '../../tools/alerts/inhibition.ts';
import { read } from './blocks.ts';

/** A rule of grafana/alerts/sluice.rules.yaml that alerts. */
export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  /** `condition`: when it fires. `description`: who feels it, and where to look first. `action`: what to do. */
  readonly annotations: Readonly<
    Record<'summary' | 'condition' | 'description' | 'action' | 'runbook_url', string>
  >;
}

interface Group {
  readonly name: string;
  readonly rules: readonly (AlertRule | { readonly alert?: undefined })[];
}

/** Titles of the parts of the page, by the groups of the rules. */
const titles: Readonly<Record<string, string>> = {
  'sluice-service': 'Requests',
  'sluice-providers': 'Providers',
  'sluice-stores': 'Stores and the ledger',
  'sluice-processes': 'Processes',
};

const groups = (parse(read('grafana/alerts/sluice.rules.yaml')) as { groups: Group[] }).groups;
const alertsOf = ({ rules }: Group): AlertRule[] => rules.filter(rule => rule.alert !== undefined);

/** The alerts in their order. */
export const alertRules: readonly AlertRule[] = groups.flatMap(alertsOf);

/** A section for each alert, in Markdown. */
export function alertSections(): string {
  const parts = groups.map(group => [titles[group.name], alertsOf(group)] as const);
  return parts
    .filter(([, alerts]) => alerts.length > 0)
    .map(([title, alerts]) => [`## ${title}`, ...alerts.map(sectionOf)].join('\n\n'))
    .join('\n\n');
}

function sectionOf({ alert, labels, for: wait, annotations }: AlertRule): string {
  const { condition, description, action } = annotations;
  const urgency = labels.severity === 'page' ? 'Page' : 'Ticket';
  const after =
    wait === undefined ? '' : ` after ${wait.replace(/^(\d+)(\w)$/, '$1 $2').replace(/m$/, 'min')}`;
  return [
    `### ${alert}\n`,
    `${urgency}${after}. ${condition}\n`,
    `- ${linked(description, alert)}`,
    `- **Do**: ${linked(action, alert)}`,
  ].join('\n');
}

/** With links to other alerts and to other pages, and the names of namedPanels in italics. */
const linked = (text: string, own: string): string =>
  text
    .replace(/\bSluice[A-Z]\w+/g, name => (name === own ? name : `[${name}](#${name.toLowerCase()})`))
    .replace(/\bdocs\/reference\/([\w-]+\.md)#([\w-]+)/g, (_, page: string, anchor: string) => {
      return `[${anchor.replaceAll('-', ' ')}](${page}#${anchor})`;
    })
    .replace(namedPanels, (_, board: string, one: string, other?: string) => {
      return `dashboard *${board}*, *${one}*${other === undefined ? '' : ` and *${other}*`}`;
    });

/** Panels as the annotations name them: dashboard Service, 'CPU' and 'Memory of limits'. */
export const namedPanels = /\bdashboard ([A-Z][a-z ]+), '([^']+)'(?: and '([^']+)')?/g;

const namedBy = (matchers: readonly string[]): string =>
  (matchers.join().match(/Sluice\w+/g) ?? []).map(name => `\`${name}\``).join(', ');

/** The inhibit rules for Alertmanager as a table in Markdown. */
export function inhibitTable(): string {
  const rows = inhibitRules.map(({ source_matchers, target_matchers, equal }) => {
    const labels = equal.map(label => `\`${label}\``).join(', ');
    return `| ${namedBy(source_matchers)} | ${namedBy(target_matchers)} | ${labels} |`;
  });
  return ['| while this fires | this says nothing new | `equal` |', '|---|---|---|', ...rows].join('\n');
}
