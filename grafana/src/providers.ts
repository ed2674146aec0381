import type { Board } from './dashboard.ts';
import { row } from './layout.ts';
import { type Panel, series, stacked } from './panel.ts';
import {
  type Expr,
  max,
  min,
  of,
  ofModel,
  ofProvider,
  orZero,
  promql,
  quantile,
  rate,
  sum,
} from './promql.ts';
import { attempted, failedShare, providerTable } from './provider-table.ts';

const by = 'sluice_provider';
const each = `{{${by}}}`;
const firstChunk = of('gen_ai_client_operation_time_to_first_chunk_seconds', ofProvider, ofModel);
const betweenChunks = of('gen_ai_client_operation_time_per_output_chunk_seconds', ofProvider, ofModel);
const succeeded = of('gen_ai_client_operation_duration_seconds', ofProvider, ofModel, 'error_type=""');
const p99 = (id: number, title: string, description: string, histogram: Expr): Panel =>
  series(id, title, 's', description, { [each]: quantile(0.99, histogram, by) });

/** What the gateway sees of its providers: latency, faults, and how they cover each other. */
export const providers: Board = {
  uid: 'sluice-providers',
  title: 'Providers',
  description: 'Attempts at providers: latency, faults, breakers, failover.',
  rows: [
    row(1, 'Attempts', 2, [
      providerTable(2, ofProvider),
      stacked(
        3,
        'Attempts',
        'reqps',
        'Calls to each provider, per second. A request has one for each retry: above the requests means retries.',
        { [each]: attempted(ofProvider) },
      ),
      series(
        4,
        'Failed attempts',
        'percentunit',
        'Share of the attempts at a provider that failed, covered by another one or not; without those of clients that left and of wrong requests.',
        { [each]: failedShare(ofProvider) },
        { thresholds: { warn: 0.01, bad: 0.1 } },
      ),
      stacked(
        5,
        'Failures by kind',
        'reqps',
        'unreachable: no connection. stale_connection: closed as the request came, sent once more. timeout: no answer in time. status: 5xx. rate_limited: its 429. misconfigured: key, address or model name. broken: ended in mid-reply. invalid: not its format.',
        {
          [`${each} {{kind}}`]: rate(
            of('sluice_upstream_errors_total', ofProvider, 'kind!~"aborted|refused"'),
            by,
            'kind',
          ),
        },
      ),
      stacked(
        20,
        'Replies by status',
        'reqps',
        'HTTP statuses of attempts, 200 left out; without one no reply came. 529 and 503 are an overload there, 500 is a fault, 429 its limit.',
        {
          [`${each} {{status}}`]: rate(
            of('sluice_upstream_attempts_total', ofProvider, 'status!="200"'),
            by,
            'status',
          ),
        },
      ),
      stacked(
        6,
        'Failovers',
        'reqps',
        'Attempts that followed a failed one: who had failed, who was asked next, and the kind of failure.',
        {
          '{{from}} → {{to}} {{kind}}': rate(
            of('sluice_failovers_total', 'from=~"$provider"'),
            'from',
            'to',
            'kind',
          ),
        },
      ),
      stacked(
        21,
        'Fallbacks to other models',
        'reqps',
        'Requests that went to another model: which one before, which one next, and why.',
        { '{{from}} → {{to}} {{kind}}': rate(of('sluice_fallbacks_total'), 'from', 'to', 'kind') },
      ),
    ]),
    row(7, 'Latency', 3, [
      p99(8, 'First chunk, p99', 'From sending to the first chunk of a stream.', firstChunk),
      p99(
        9,
        'Between chunks, p99',
        'As chunks arrive from the provider; chunks that come together share their wait.',
        betweenChunks,
      ),
      p99(
        10,
        'Whole attempt, p99',
        'From sending to the last byte, of attempts that did not fail.',
        succeeded,
      ),
    ]),
    row(11, 'Protection', 2, [
      series(
        12,
        'Breakers',
        'short',
        'Instances in which the breaker is not closed: it lets no attempt through (open), or single probes (half open).',
        {
          [`${each} {{state}}`]: sum(of('sluice_breaker_state', ofProvider, 'state!="closed"'), by, 'state'),
        },
        { thresholds: { warn: 0.5, bad: 1 } },
      ),
      series(
        13,
        'Healthy',
        'short',
        '0 while the health check of a provider fails; 1 where none is configured.',
        { [each]: min(of('sluice_provider_healthy', ofProvider), by) },
        { thresholds: { warn: 1, bad: 0.5, falling: true } },
      ),
      series(
        22,
        'Out of service',
        'short',
        'Providers that operators have paused, or drain.',
        {
          [`${each} {{state}}`]: max(
            of('sluice_provider_control', ofProvider, 'state!="active"'),
            by,
            'state',
          ),
        },
        { thresholds: { warn: 0.5, bad: 2 } },
      ),
      series(
        14,
        'In flight and queued',
        'short',
        'Attempts under way, and requests that wait for one of max_concurrent places.',
        {
          [`${each} in flight`]: sum(of('sluice_provider_in_flight', ofProvider), by),
          [`${each} queued`]: sum(of('sluice_provider_queued', ofProvider), by),
        },
      ),
      p99(
        15,
        'Waiting for a place, p99',
        'Of requests that found all places of a provider taken.',
        of('sluice_provider_queue_seconds', ofProvider),
      ),
      stacked(
        16,
        'Not covered',
        'reqps',
        'Failures that went to the client before any answer, and what was missing to cover them. Of all providers.',
        {
          '{{reason}}': rate(of('sluice_retries_denied_total', ofModel), 'reason'),
          'all upstreams full': orZero(rate(of('sluice_overload_refusals_total', ofModel))),
        },
      ),
      series(
        17,
        'Unusual ends of replies',
        'reqps',
        'Finish reasons that no adapter knows, which clients see as stop, errors after the last finish reason, when the answer was whole, and usage above the context window, which is billed instead.',
        {
          [`${each} {{finish_reason}}`]: rate(
            of('sluice_unknown_finish_reasons_total', ofProvider),
            by,
            'finish_reason',
          ),
          [`${each} late error`]: rate(of('sluice_late_upstream_errors_total', ofProvider), by),
          [`${each} impossible usage`]: rate(of('sluice_usage_bounded_total', ofProvider), by),
        },
      ),
      stacked(
        18,
        'Output tokens by provider',
        'short',
        'Billable output tokens per second, by who generated them.',
        {
          [each]: rate(
            of('gen_ai_client_token_usage_sum', ofProvider, ofModel, 'gen_ai_token_type="output"'),
            by,
          ),
        },
      ),
      series(
        19,
        'Certificates end in',
        'd',
        'Days until the certificate of a provider ends, as last seen by an instance.',
        {
          [each]: promql`(${min(
            of('sluice_upstream_certificate_expiry_timestamp_seconds', ofProvider),
            by,
          )} - time()) / 86400`,
        },
        { thresholds: { warn: 21, bad: 7, falling: true } },
      ),
    ]),
  ],
};
