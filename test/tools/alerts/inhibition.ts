import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

/** Labels of an alert that fires. */
export type AlertLabels = Readonly<Record<string, string>>;

interface InhibitRule {
  readonly source_matchers: readonly string[];
  readonly target_matchers: readonly string[];
  readonly equal: readonly string[];
}

const file = new URL('../../../grafana/alerts/sluice.inhibit.yaml', import.meta.url);
/** The shipped inhibit rules. */
export const { inhibit_rules: inhibitRules } = parse(readFileSync(file, 'utf8')) as {
  inhibit_rules: readonly InhibitRule[];
};

/** Those of the alerts that fire together which Alertmanager tells with the shipped rules. */
export function notices(firing: readonly AlertLabels[]): AlertLabels[] {
  return firing.filter(target => !inhibitRules.some(rule => isInhibited(target, rule, firing)));
}

/** As Alertmanager does: an alert that fits both sides of a rule is not inhibited by another one that does, nor by itself. */
function isInhibited(target: AlertLabels, rule: InhibitRule, firing: readonly AlertLabels[]): boolean {
  const { source_matchers, target_matchers, equal } = rule;
  if (!fits(target, target_matchers)) return false;
  const isTwoSided = fits(target, source_matchers);
  return firing.some(
    source =>
      fits(source, source_matchers) &&
      equal.every(label => (source[label] ?? '') === (target[label] ?? '')) &&
      !(isTwoSided && fits(source, target_matchers)),
  );
}

const fits = (labels: AlertLabels, matchers: readonly string[]): boolean =>
  matchers.every(matcher => {
    const [, label = '', how, value = ''] = /^(\w+)(=~|=)"([^"]*)"$/.exec(matcher) ?? [];
    if (how === undefined) throw new Error(`the inhibit rules have a matcher of another form: ${matcher}`);
    const own = labels[label] ?? '';
    return how === '=' ? own === value : new RegExp(`^(?:${value})$`).test(own);
  });
