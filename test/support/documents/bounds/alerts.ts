import { alertRules } from '../alerts-page.ts';
import { read } from '../blocks.ts';
import { numbersOf } from '../constants.ts';
import type { Bound } from '../numbers.ts';

const rules_file = 'grafana/alerts/sluice.rules.yaml';

/** The numbers in the expression of an alert that the groups of a pattern match. */
function numbersOfAlert(name: string, pattern: RegExp): number[] {
  const rule = alertRules.find(({ alert }) => alert === name);
  return numbersOf(rule?.expr ?? '', pattern, name);
}

const waitOf = (name: string): number =>
  Number.parseInt(alertRules.find(({ alert }) => alert === name)?.for ?? '', 10);

/** How long each alert waits, with the beginning of its condition. */
const waits: readonly Bound[] = alertRules.flatMap(({ for: wait, labels, annotations }) => {
  if (wait === undefined) return [];
  const [, count, unit] = /^(\d+)(\w)$/.exec(wait) ?? [];
  const urgency = labels.severity === 'page' ? 'Page' : 'Ticket';
  const says = `${urgency} after {} ${unit === 'm' ? 'min' : unit}. ${annotations.condition.slice(0, 25)}`;
  return [{ says, is: Number(count) }];
});

const [fast, slow] = ['1h', '6h'].map(
  window =>
    numbersOfAlert('SluiceErrors', new RegExp(`requests_failed:ratio_rate${window} > \\D*([\\d.]+)`))[0]!,
) as [number, number];
const [budget_days] = numbersOf(read(rules_file), /must not fail, over (\d+) days/, rules_file) as [number];
const [objective] = numbersOf(read(rules_file), /vector\(([\d.]+)\)/, rules_file) as [number];
/** Of that many failures the fewest that can be meant by `> 4`. */
const above = (count: number): number => count + 1;

const errorWindows = numbersOfAlert(
  'SluiceErrors',
  /ratio_rate(\d+)h > [^>]*14\.4[^>]*ratio_rate(\d+)m[\s\S]*?ratio_rate(\d+)h > [^>]*\(6 [^>]*ratio_rate(\d+)m/,
) as [number, number, number, number];
const [most, most_m, most_count] = numbersOfAlert(
  'SluiceErrors',
  /ratio_rate5m > ([\d.]+) and \S+:rate(\d+)m \* 300 > (\d+)/,
) as [number, number, number];
const [few] = numbersOfAlert('SluiceErrors', /:rate1h \* 3600 > (\d+)\n/) as [number];
const [slow_few] = numbersOfAlert('SluiceErrorsSlow', /:rate1d \* 86400 > (\d+)\n/) as [number];
const [no_success] = numbersOfAlert('SluiceErrors', /ratio_rate1h and \S+ \* 3600 > (\d+)/) as [number];
const [gone_m, gone_count] = numbersOfAlert('SluiceErrors', /"0"}\[(\d+)m\]\)\) > (\d+)/) as [number, number];

const [slow_factor, even_days] = numbersOfAlert(
  'SluiceErrorsSlow',
  /ratio_rate1d > \D*(\d+)[\s\S]*?ratio_rate(\d+)d > \D*1 /,
) as [number, number];

const [wait_m, wait_count, wait_share] = numbersOfAlert(
  'SluiceClientsWait',
  /"0"}\[(\d+)m\]\)\) > (\d+)[\s\S]*?> ([\d.]+)\n/,
) as [number, number, number];
const [quantile, first_m, first_s, first_count] = numbersOfAlert(
  'SluiceClientsWait',
  /quantile\(([\d.]+).*\[(\d+)m\].* > (\d+)\n[\s\S]*> (\d+)\n/,
) as [number, number, number, number];

const [own_m, own_s, own_count] = numbersOfAlert(
  'SluiceOverhead',
  /\[(\d+)m\].* > ([\d.]+)\n[\s\S]*> (\d+)\n/,
) as [number, number, number];
const [full_m, full_count] = numbersOfAlert('SluiceOverloaded', /\[(\d+)m\]\)\) > (\d+)/) as [number, number];

const [fails_m, fails_count, fails_share] = numbersOfAlert(
  'SluiceProviderFailing',
  /\[(\d+)m\]\)\) > (\d+)[\s\S]*?\) > ([\d.]+)\n/,
) as [number, number, number];
const [wrong_m, wrong_count] = numbersOfAlert(
  'SluiceProviderFailing',
  /"misconfigured"}\[(\d+)m\]\)\) > (\d+)/,
) as [number, number];
const [closed_m] = numbersOfAlert('SluiceProviderFailing', /"closed"}\[(\d+)m\]/) as [number];
const [opened_m, opened_count] = numbersOfAlert(
  'SluiceProviderFailing',
  /"open"}\[(\d+)m\]\)\)\s+\/ [^>]* > (\d+)/,
) as [number, number];
const [health_m] = numbersOfAlert('SluiceProviderFailing', /healthy\[(\d+)m\]/) as [number];

const daysLeft = (name: string): number => numbersOfAlert(name, /< (\d+) \* 86400/)[0]!;
const [restart_m, restarts] = numbersOfAlert('SluiceRestarts', /\[(\d+)m\]\)\) > (\d+)/) as [number, number];
const [starts_m, starts] = numbersOfAlert('SluiceRestarts', /changes.*\[(\d+)m\]\)\) > (\d+)/) as [
  number,
  number,
];
const [memory, heap] = numbersOfAlert('SluiceMemoryHigh', /> ([\d.]+)\n[\s\S]*> ([\d.]+)/) as [
  number,
  number,
];
const [late_m, late_s, late_count] = numbersOfAlert(
  'SluiceEventLoopLate',
  /\[(\d+)m\][\s\S]*le="([\d.]+)"[^>]* > (\d+)/,
) as [number, number, number];
const [estimated_m, estimated, estimated_count] = numbersOfAlert(
  'SluiceUsageEstimated',
  /\[(\d+)m\][\s\S]*?> ([\d.]+)\n[\s\S]*> (\d+)\n/,
) as [number, number, number];
const [store_m, store_share] = numbersOfAlert('SluiceStoreOut', /\[(\d+)m\]\)\) < ([\d.]+)/) as [
  number,
  number,
];
const percent = (share: number): number => Math.round(share * 100);

/** The numbers of grafana/alerts in docs/reference/alerts.md. */
export const alertBounds: readonly Bound[] = [
  ...waits,
  { says: 'a certificate is in its last {} days', is: daysLeft('SluiceCertificateEndsSoon') },
  { says: '`sluice:objective:ratio`: {} over {} days', is: [objective, budget_days] },
  { says: 'a page needs at least {} failures', is: above(Math.min(no_success, most_count, gone_count)) },
  {
    says: 'refused with 400, 401, 403 or 404 more than {} as often as before',
    is: numbersOfAlert('SluiceAllRefused', /refused:rate5m\) <= (\d+) \*/),
  },
  {
    says: 'the error budget of {} days would be gone in {} days ({} times too fast, over {} h and {} min) or in {} days ({} times, over {} h and {} min), by at least {} failures',
    is: [
      ...[budget_days, Math.round(budget_days / fast), fast, errorWindows[0], errorWindows[1]],
      ...[Math.round(budget_days / slow), slow, errorWindows[2], errorWindows[3], above(few)],
    ],
  },
  {
    says: 'more than {} % of the requests fail in {} min, at least {} of them',
    is: [percent(most), most_m, above(most_count)],
  },
  { says: 'Or {} failed in an hour and none succeeded', is: above(no_success) },
  {
    says: 'Or {} clients left in {} min before the first byte',
    is: [above(gone_count), gone_m],
  },
  {
    says: 'spent {} times too fast over a day, or just as fast as it may be over {} days, by at least {} failures',
    is: [slow_factor, even_days, above(slow_few)],
  },
  { says: '*Errors by type* over {} days', is: even_days },
  {
    says: 'More than {} of the requests in {} min, at least {}, end because the client left',
    is: [wait_share, wait_m, above(wait_count)],
  },
  {
    says: 'more than one in a {} streams, at least {} in {} min, wait longer than {} s for the first token',
    is: [Math.round(1 / (1 - quantile)), above(first_count), first_m, first_s],
  },
  {
    says: 'begins is above {} ms (p99), in at least {} requests of {} min',
    is: [own_s * 1000, above(own_count), own_m],
  },
  {
    says: 'One fault in {} min is enough',
    is: numbersOfAlert('SluiceStageBroken', /\[(\d+)m\]\)\) > 0/),
  },
  { says: 'more than {} requests in {} min were refused for that reason', is: [full_count, full_m] },
  {
    says: 'An account has used more than {} % of one of its limits',
    is: percent(numbersOfAlert('SluiceLimitNearlyUsed', /> ([\d.]+)/)[0]!),
  },
  {
    says: 'More than {} % of the attempts at a provider fail, at least {} in {} min',
    is: [percent(fails_share), above(fails_count), fails_m],
  },
  { says: '401, 403 or 404 at least {} times in {} min', is: [above(wrong_count), wrong_m] },
  {
    says: 'never closed for {} min, or opened more than {} in {} min',
    is: [closed_m, opened_count, opened_m],
  },
  { says: 'its health check fails for {} min', is: health_m },
  ...[['Ticket', 'SluiceCertificateEnds'] as const, ['Page', 'SluiceCertificateEndsSoon'] as const].map(
    ([urgency, name]) => ({
      says: `${urgency} after {} min. The certificate of a provider, or of a listener of sluice, ends in less than {} days`,
      is: [waitOf(name), daysLeft(name)],
    }),
  ),
  { says: 'Lower the {} days', is: daysLeft('SluiceCertificateEnds') },
  {
    says: 'was down for more than a {} of {} min, in at least one instance',
    is: [Number((1 - store_share).toFixed(9)), store_m],
  },
  {
    says: 'not in the ledger ended more than {} min ago',
    is: numbersOfAlert('SluiceLedgerBehind', /> (\d+)/)[0]! / 60,
  },
  {
    says: 'More than {} % of the output tokens of {} min, of at least {} requests',
    is: [percent(estimated), estimated_m, above(estimated_count)],
  },
  {
    says: 'started more than {} times in {} min, or more than {} of its workers',
    is: [starts, starts_m, restarts],
  },
  { says: 'times in {} min, or more than {} of its workers', is: [restart_m, restarts] },
  { says: 'uses more than {} % of the memory that it may have', is: percent(memory) },
  { says: 'its JavaScript heap is more than {} % full', is: percent(heap) },
  {
    says: 'blocked for more than {} ms in at least {} seconds of {} min',
    is: [late_s * 1000, above(late_count), late_m],
  },
];
