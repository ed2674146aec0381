import { readFileSync } from 'node:fs';

/** Windows of the shipped rules, and the seconds that stand for them; their order is kept. */
const windows: Readonly<Record<string, number>> = {
  '5m': 5,
  '10m': 6,
  '15m': 7,
  '30m': 8,
  '1h': 10,
  '2h': 12,
  '6h': 15,
  '1d': 18,
  '3d': 24,
};
/** Offsets, in seconds; with those of the windows what was before would be over before an alert had waited. */
const offsets: Readonly<Record<string, number>> = { '5m': 12, '1h': 22 };
/** Factors that turn the rate of a window into a count, in seconds, with the window. */
const factors: Readonly<Record<string, string>> = {
  300: '5m',
  1800: '30m',
  3600: '1h',
  21600: '6h',
  86400: '1d',
  259200: '3d',
};
/** Thresholds and windows that would take too long to reach, as they stand after the windows were replaced. */
const others: readonly (readonly [shipped: string, fast: string])[] = [
  // A busy machine takes seconds for a first token as well.
  ['seconds_bucket[5s]))) > 30\n', 'seconds_bucket[5s]))) > 10\n'],
  ['le="30"', 'le="10"'],
  ['row_age_seconds) > 600\n', 'row_age_seconds) > 2\n'],
  // Four starts of a process take longer than the eight seconds of the window.
  ['process_start_time_seconds[8s]', 'process_start_time_seconds[60s]'],
  ['worker_restarts_total[8s]', 'worker_restarts_total[60s]'],
];

/**
 * The shipped alert rules with shorter times, for a Prometheus that scrapes and evaluates every second: the windows of the table above, two
 * seconds for a `for` of less than 10 minutes and nine for the others, and the few others above. Everything else, selectors, ratios, counts and labels, is as shipped.
 */
export function fastRules(): string {
  let rules = readFileSync(new URL('../../../grafana/alerts/sluice.rules.yaml', import.meta.url), 'utf8');
  rules = rules.replaceAll(/\[(\d+[mhd])\]/g, (_, window: string) => `[${secondsOf(window)}s]`);
  rules = rules.replaceAll(
    /\boffset (\d+[mhd])/g,
    (_, offset: string) => `offset ${secondsOf(offset, offsets)}s`,
  );
  rules = rules.replaceAll(/ \* (\d+) >/g, (_, factor: string) => ` * ${secondsOf(factors[factor])} >`);
  rules = rules.replaceAll(/^( +for:) 1\dm$/gm, '$1 9s').replaceAll(/^( +for:) (?!9s)\w+$/gm, '$1 2s');
  rules = rules.replaceAll(/^ +interval: \w+\n/gm, '');
  for (const [shipped, fast] of others) {
    if (!rules.includes(shipped)) throw new Error(`the rules no longer have ${shipped}`);
    rules = rules.replaceAll(shipped, fast);
  }
  return rules;
}

function secondsOf(window: string | undefined, known = windows): number {
  const seconds = known[window ?? ''];
  if (seconds === undefined)
    throw new Error(`the rules have a window or factor that has no short form: ${window}`);
  return seconds;
}
