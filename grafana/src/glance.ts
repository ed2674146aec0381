import { type Row, row } from './layout.ts';
import { series, stacked, stat } from './panel.ts';
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

const certificates = promql`${of('sluice_upstream_certificate_expiry_timestamp_seconds')} or ${of('sluice_listener_certificate_expiry_timestamp_seconds')}`;

/** The first screen: is anything wrong, and where to look. */
export const glance: Row = row(1, 'At a glance', 3, [
  stat(
    2,
    'Instances down',
    'short',
    'Instances that do not answer their scrapes. All other figures leave them out.',
    { down: orZero(count(promql`${of('up')} == 0`)) },
    { thresholds: { warn: 1, bad: 1 } },
  ),
  stat(3, 'Requests', 'reqps', 'Requests that ended, per second, however they ended.', {
    requests: ended(),
  }),
  stat(
    4,
    'Failed',
    'percentunit',
    'Failures, as a share of the requests let in, as the alerts count them. Refusals for what a client did count in neither. Most failures begin at a provider.',
    { failed: share(failed, letIn) },
    { thresholds: { warn: 0.01, bad: 0.05 }, noValue: 'no requests', leadsTo: 'sluice-providers' },
  ),
  stat(
    5,
    'First token, p50',
    's',
    'From the first header of a streamed request to its first text or tool call.',
    { p50: quantile(0.5, firstToken) },
    { noValue: 'no streams' },
  ),
  stat(
    6,
    'First token, p99',
    's',
    'The slowest one in a hundred. Compare it with the first chunk of the providers.',
    { p99: quantile(0.99, firstToken) },
    { thresholds: { warn: 5, bad: 20 }, noValue: 'no streams', leadsTo: 'sluice-providers' },
  ),
  stat(
    7,
    'Cost per hour',
    'currencyUSD',
    "What clients are charged at the catalog's prices, at the current rate.",
    { 'USD per hour': promql`${rate(of('sluice_cost_usd_total', ofModel))} * 3600` },
  ),
  stat(8, 'Tokens per second', 'short', 'Billable tokens, input and output.', { tokens: rate(tokens) }),
  stat(
    9,
    'In flight',
    'short',
    'Requests that have begun and are not settled, those read on for the bill among them.',
    { 'in flight': sum(of('sluice_in_flight')) },
  ),
  stat(
    10,
    'Event loop, longest',
    's',
    'The longest delay of the event loop of any process, up to the bound of its bucket. Above 50 ms every stream stutters.',
    { delay: quantile(1, of('sluice_event_loop_delay_seconds')) },
    { thresholds: { warn: 0.05, bad: 0.25 } },
  ),
  stat(
    11,
    'Busiest CPU',
    'percentunit',
    'Of the busiest process, as a share of one core. Requests of a process run on one: at 100 % it is full.',
    { cpu: max(perSecond(of('process_cpu_seconds_total'))) },
    { thresholds: { warn: 0.7, bad: 0.9 } },
  ),
  stat(
    12,
    'Memory of limit',
    'percentunit',
    'Of the fullest instance: resident memory as a share of its container’s or machine’s limit.',
    {
      used: max(
        promql`${sum(of('process_resident_memory_bytes'), 'job', 'instance')} / on (job, instance) ${of('sluice_memory_limit_bytes')}`,
      ),
    },
    { thresholds: { warn: 0.75, bad: 0.9 } },
  ),
  stat(
    13,
    'Fullest limit',
    'percentunit',
    "Used share of the fullest limit of an account. The panel 'Fullest limits' tells whose.",
    { used: max(of('sluice_limit_used_ratio')) },
    { thresholds: { warn: 0.8, bad: 1 }, noValue: 'below half', leadsTo: 'sluice-accounts' },
  ),
  stat(
    14,
    'Breakers open',
    'short',
    'Circuit breakers that are not closed, of all instances.',
    { open: orZero(sum(of('sluice_breaker_state', 'state!="closed"'))) },
    { thresholds: { warn: 1, bad: 1 }, leadsTo: 'sluice-providers' },
  ),
  stat(
    15,
    'Store operations down',
    'short',
    'Operations of stores that fail, such as writing the ledger, of all instances. Limits and keys follow their policies meanwhile.',
    { down: orZero(count(promql`${of('sluice_store_up')} == 0`)) },
    { thresholds: { warn: 1, bad: 1 }, leadsTo: 'sluice-accounts' },
  ),
  stat(
    16,
    'Oldest ledger row',
    's',
    'Age of the oldest settled request that is not in the store. It must come back to 0.',
    { age: max(of('sluice_ledger_oldest_row_age_seconds')) },
    { thresholds: { warn: 60, bad: 600 }, leadsTo: 'sluice-accounts' },
  ),
  stat(
    17,
    'Next certificate ends',
    'd',
    'The one that ends first: of the providers, as last seen, and of the TLS listeners of sidecars.',
    {
      days: promql`(${min(certificates)} - time()) / 86400`,
    },
    { thresholds: { warn: 21, bad: 7, falling: true }, noValue: 'none seen', leadsTo: 'sluice-providers' },
  ),
  stacked(
    18,
    'Requests by status',
    'reqps',
    '429 are limits of accounts, 502 providers or the gateway, 524 answers that took too long.',
    { '{{status}}': ended('status') },
    { leadsTo: 'sluice-accounts' },
  ),
  series(
    19,
    'Failed requests',
    'percentunit',
    'As above, by whose they are: failures as a share of the requests let in.',
    {
      'by providers': share(endedAs('provider_failed'), letIn),
      'by the gateway': share(endedAs('gateway_failed'), letIn),
    },
    { thresholds: { warn: 0.01, bad: 0.05 }, leadsTo: 'sluice-providers' },
  ),
  series(
    20,
    'Time to first token',
    's',
    'Of streams: prefill, queueing at the engine, and retries.',
    quantiles(firstToken, 0.5, 0.9, 0.99),
    { leadsTo: 'sluice-providers' },
  ),
]);
