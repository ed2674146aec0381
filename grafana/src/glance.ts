import type { Row } from './layout.ts';
import type { Panel } from './panel.ts';
import {
  count,
  max,
  min,
  of,
  ofModel,
  orZero,
  perSecond,
  promql,
  quantile,
  quantiles,
  rate,
  share,
  sum,
} from './promql.ts';
import { ended, endedAs, failed, letIn } from './requests.ts';

const firstToken = of('gen_ai_server_time_to_first_token_seconds', ofModel);
const tokens = of('sluice_tokens_total', ofModel, 'kind=~"input|output"');

const figure = (panel: Omit<Panel, 'kind'>): Panel => ({ kind: 'stat', ...panel });

const certificates = promql`${of('sluice_upstream_certificate_expiry_timestamp_seconds')} or ${of('sluice_listener_certificate_expiry_timestamp_seconds')}`;

/** The first screen: is anything wrong, and where to look. */
export const glance: Row = {
  id: 1,
  title: 'At a glance',
  across: 3,
  panels: [
    figure({
      id: 2,
      title: 'Instances down',
      description: 'Instances that do not answer their scrapes. All other figures leave them out.',
      unit: 'short',
      queries: { down: orZero(count(promql`${of('up')} == 0`)) },
      thresholds: { warn: 1, bad: 1 },
    }),
    figure({
      id: 3,
      title: 'Requests',
      description: 'Requests that ended, per second, however they ended.',
      unit: 'reqps',
      queries: { requests: ended() },
    }),
    figure({
      id: 4,
      title: 'Failed',
      description:
        'Failures, as a share of the requests let in, as the alerts count them. Refusals for what a client did count in neither. Most failures begin at a provider.',
      unit: 'percentunit',
      queries: { failed: share(failed, letIn) },
      thresholds: { warn: 0.01, bad: 0.05 },
      noValue: 'no requests',
      leadsTo: 'sluice-providers',
    }),
    figure({
      id: 5,
      title: 'First token, p50',
      description: 'From the first header of a streamed request to its first text or tool call.',
      unit: 's',
      queries: { p50: quantile(0.5, firstToken) },
      noValue: 'no streams',
    }),
    figure({
      id: 6,
      title: 'First token, p99',
      description: 'The slowest one in a hundred. Compare it with the first chunk of the providers.',
      unit: 's',
      queries: { p99: quantile(0.99, firstToken) },
      thresholds: { warn: 5, bad: 20 },
      noValue: 'no streams',
      leadsTo: 'sluice-providers',
    }),
    figure({
      id: 7,
      title: 'Cost per hour',
      description: "What clients are charged at the catalog's prices, at the current rate.",
      unit: 'currencyUSD',
      queries: { 'USD per hour': promql`${rate(of('sluice_cost_usd_total', ofModel))} * 3600` },
    }),
    figure({
      id: 8,
      title: 'Tokens per second',
      description: 'Billable tokens, input and output.',
      unit: 'short',
      queries: { tokens: rate(tokens) },
    }),
    figure({
      id: 9,
      title: 'In flight',
      description: 'Requests that have begun and are not settled, those read on for the bill among them.',
      unit: 'short',
      queries: { 'in flight': sum(of('sluice_in_flight')) },
    }),
    figure({
      id: 10,
      title: 'Event loop, longest',
      description:
        'The longest delay of the event loop of any process, up to the bound of its bucket. Above 50 ms every stream stutters.',
      unit: 's',
      queries: { delay: quantile(1, of('sluice_event_loop_delay_seconds')) },
      thresholds: { warn: 0.05, bad: 0.25 },
    }),
    figure({
      id: 11,
      title: 'Busiest CPU',
      description:
        'Of the busiest process, as a share of one core. Requests of a process run on one: at 100 % it is full.',
      unit: 'percentunit',
      queries: { cpu: max(perSecond(of('process_cpu_seconds_total'))) },
      thresholds: { warn: 0.7, bad: 0.9 },
    }),
    figure({
      id: 12,
      title: 'Memory of limit',
      description:
        'Of the fullest instance: resident memory as a share of its container’s or machine’s limit.',
      unit: 'percentunit',
      queries: {
        used: max(
          promql`${sum(of('process_resident_memory_bytes'), 'job', 'instance')} / on (job, instance) ${of('sluice_memory_limit_bytes')}`,
        ),
      },
      thresholds: { warn: 0.75, bad: 0.9 },
    }),
    figure({
      id: 13,
      title: 'Fullest limit',
      description: "Used share of the fullest limit of an account. The panel 'Fullest limits' tells whose.",
      unit: 'percentunit',
      queries: { used: max(of('sluice_limit_used_ratio')) },
      thresholds: { warn: 0.8, bad: 1 },
      noValue: 'below half',
      leadsTo: 'sluice-accounts',
    }),
    figure({
      id: 14,
      title: 'Breakers open',
      description: 'Circuit breakers that are not closed, of all instances.',
      unit: 'short',
      queries: { open: orZero(sum(of('sluice_breaker_state', 'state!="closed"'))) },
      thresholds: { warn: 1, bad: 1 },
      leadsTo: 'sluice-providers',
    }),
    figure({
      id: 15,
      title: 'Store operations down',
      description:
        'Operations of stores that fail, such as writing the ledger, of all instances. Limits and keys follow their policies meanwhile.',
      unit: 'short',
      queries: { down: orZero(count(promql`${of('sluice_store_up')} == 0`)) },
      thresholds: { warn: 1, bad: 1 },
      leadsTo: 'sluice-accounts',
    }),
    figure({
      id: 16,
      title: 'Oldest ledger row',
      description: 'Age of the oldest settled request that is not in the store. It must come back to 0.',
      unit: 's',
      queries: { age: max(of('sluice_ledger_oldest_row_age_seconds')) },
      thresholds: { warn: 60, bad: 600 },
      leadsTo: 'sluice-accounts',
    }),
    figure({
      id: 17,
      title: 'Next certificate ends',
      description:
        'The one that ends first: of the providers, as last seen, and of the TLS listeners of sidecars.',
      unit: 'd',
      queries: {
        days: promql`(${min(certificates)} - time()) / 86400`,
      },
      thresholds: { warn: 21, bad: 7, falling: true },
      noValue: 'none seen',
      leadsTo: 'sluice-providers',
    }),
    {
      id: 18,
      kind: 'stacked',
      title: 'Requests by status',
      description:
        '429 are limits of accounts, 502 providers or the gateway, 524 answers that took too long.',
      unit: 'reqps',
      queries: { '{{status}}': ended('status') },
      leadsTo: 'sluice-accounts',
    },
    {
      id: 19,
      kind: 'series',
      title: 'Failed requests',
      description: 'As above, by whose they are: failures as a share of the requests let in.',
      unit: 'percentunit',
      queries: {
        'by providers': share(endedAs('provider_failed'), letIn),
        'by the gateway': share(endedAs('gateway_failed'), letIn),
      },
      thresholds: { warn: 0.01, bad: 0.05 },
      leadsTo: 'sluice-providers',
    },
    {
      id: 20,
      kind: 'series',
      title: 'Time to first token',
      description: 'Of streams: prefill, queueing at the engine, and retries.',
      unit: 's',
      queries: quantiles(firstToken, 0.5, 0.9, 0.99),
      leadsTo: 'sluice-providers',
    },
  ],
};
