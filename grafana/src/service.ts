import type { Board } from './dashboard.ts';
import { perSecond, quantile, quantiles } from './promql.ts';

const model = 'gen_ai_request_model=~"$model"';
const requests = `sluice_requests_total{${model}}`;
const failed = `sluice_requests_total{${model},status=~"5.."}`;

/** Is the service healthy, what does it do, what does it cost. */
export const service: Board = {
  uid: 'sluice-service',
  title: 'Service',
  description: 'The golden signals as clients see them, tokens, and cost.',
  rows: [
    {
      title: 'At a glance',
      panels: [
        {
          kind: 'stat',
          title: 'Requests',
          description: 'Exchanges that ended, per second.',
          unit: 'reqps',
          queries: [{ expr: `sum(${perSecond(requests)})`, legend: 'requests' }],
        },
        {
          kind: 'stat',
          title: 'Failed',
          description:
            'Share of exchanges answered 5xx. Above 1 % look at Providers first: most of them begin there.',
          unit: 'percentunit',
          queries: [
            {
              expr: `(sum(${perSecond(failed)}) or vector(0)) / sum(${perSecond(requests)})`,
              legend: 'failed',
            },
          ],
          thresholds: { warn: 0.01, bad: 0.05 },
          leadsTo: 'sluice-providers',
        },
        {
          kind: 'stat',
          title: 'First token, p99',
          description: 'From the first header of a streamed request to its first text.',
          unit: 's',
          queries: [
            {
              expr: quantile(0.99, `gen_ai_server_time_to_first_token_seconds_bucket{${model}}`),
              legend: 'p99',
            },
          ],
          thresholds: { warn: 5, bad: 20 },
          leadsTo: 'sluice-providers',
        },
        {
          kind: 'stat',
          title: 'Overhead, p99',
          description:
            "The gateway's own time until a reply began: everything but the wait for the upstream.",
          unit: 's',
          queries: [{ expr: quantile(0.99, 'sluice_overhead_seconds_bucket'), legend: 'p99' }],
          thresholds: { warn: 0.02, bad: 0.1 },
          leadsTo: 'sluice-chain',
        },
        {
          kind: 'stat',
          title: 'In flight',
          description:
            'Exchanges that have begun and are not settled, those that are read on for the bill among them.',
          unit: 'short',
          queries: [{ expr: 'sum(sluice_in_flight)', legend: 'in flight' }],
        },
        {
          kind: 'stat',
          title: 'Cost per hour',
          description: "What clients are charged at the catalog's prices, at the pace of now.",
          unit: 'currencyUSD',
          queries: [
            { expr: `sum(${perSecond(`sluice_cost_usd_total{${model}}`)}) * 3600`, legend: 'USD per hour' },
          ],
        },
      ],
    },
    {
      title: 'Requests',
      panels: [
        {
          kind: 'stacked',
          title: 'Requests by status',
          description:
            '429 are limits of accounts, 502 providers or the gateway, 524 answers that took too long.',
          unit: 'reqps',
          queries: [{ expr: `sum by (status) (${perSecond(requests)})`, legend: '{{status}}' }],
          leadsTo: 'sluice-accounts',
        },
        {
          kind: 'stacked',
          title: 'Why exchanges ended',
          description:
            'completed is good; client_gone and slow_client are the clients, the rest is ours or the providers.',
          unit: 'reqps',
          queries: [{ expr: `sum by (end_reason) (${perSecond(requests)})`, legend: '{{end_reason}}' }],
        },
        {
          kind: 'series',
          title: 'Duration',
          description:
            'From the first header to settlement. Long is normal for long answers; look at the time per token.',
          unit: 's',
          queries: quantiles(`gen_ai_server_request_duration_seconds_bucket{${model}}`, 0.5, 0.9, 0.99),
        },
        {
          kind: 'series',
          title: 'Errors by type',
          description: 'The types that clients see in the envelope, per second.',
          unit: 'reqps',
          queries: [
            {
              expr: `sum by (error_type) (${perSecond(`sluice_requests_total{${model},error_type!=""}`)})`,
              legend: '{{error_type}}',
            },
          ],
          mayBeEmpty: true,
        },
      ],
    },
    {
      title: 'Streams',
      panels: [
        {
          kind: 'series',
          title: 'Time to first token',
          description: 'Prefill, queueing at the engine, and retries.',
          unit: 's',
          queries: quantiles(`gen_ai_server_time_to_first_token_seconds_bucket{${model}}`, 0.5, 0.9, 0.99),
        },
        {
          kind: 'series',
          title: 'Time per output token',
          description: 'After the first token. A rise without more requests is a slower engine.',
          unit: 's',
          queries: quantiles(`gen_ai_server_time_per_output_token_seconds_bucket{${model}}`, 0.5, 0.99),
        },
      ],
    },
    {
      title: 'Tokens and cost',
      panels: [
        {
          kind: 'stacked',
          title: 'Tokens by kind',
          description: 'Billable tokens per second. cached is a part of input, reasoning a part of output.',
          unit: 'short',
          queries: [
            { expr: `sum by (kind) (${perSecond(`sluice_tokens_total{${model}}`)})`, legend: '{{kind}}' },
          ],
        },
        {
          kind: 'series',
          title: 'Estimated share',
          description:
            'Output tokens that were estimated because the upstream never told: broken or cancelled streams.',
          unit: 'percentunit',
          queries: [
            {
              expr:
                `(sum(${perSecond(`sluice_tokens_total{${model},kind="output",source="estimated"}`)}) or vector(0)) / ` +
                `sum(${perSecond(`sluice_tokens_total{${model},kind="output"}`)})`,
              legend: 'estimated',
            },
          ],
          thresholds: { warn: 0.05, bad: 0.2 },
        },
        {
          kind: 'stacked',
          title: 'Cost by model',
          description: "USD per hour at the catalog's prices.",
          unit: 'currencyUSD',
          queries: [
            {
              expr: `sum by (gen_ai_request_model) (${perSecond(`sluice_cost_usd_total{${model}}`)}) * 3600`,
              legend: '{{gen_ai_request_model}}',
            },
          ],
        },
        {
          kind: 'series',
          title: 'Estimator against upstream',
          description:
            'Estimated output tokens divided by the upstream’s own figure, where it came: 1 is exact.',
          unit: 'short',
          queries: quantiles(`sluice_usage_estimate_error_ratio_bucket{${model}}`, 0.1, 0.5, 0.9),
          mayBeEmpty: true,
        },
      ],
    },
    {
      title: 'Process',
      panels: [
        {
          kind: 'series',
          title: 'Event-loop delay',
          description:
            'How late the process is. Above 50 ms every stream stutters: more instances, or a stage that blocks.',
          unit: 's',
          queries: [
            { expr: 'max by (instance) (nodejs_eventloop_lag_p99_seconds)', legend: '{{instance}} p99' },
          ],
          thresholds: { warn: 0.05, bad: 0.2 },
          width: 8,
        },
        {
          kind: 'series',
          title: 'CPU',
          description: 'Cores in use by each instance; one is all that an instance can use.',
          unit: 'short',
          queries: [
            { expr: `sum by (instance) (${perSecond('process_cpu_seconds_total')})`, legend: '{{instance}}' },
          ],
          width: 8,
        },
        {
          kind: 'series',
          title: 'Memory',
          description:
            'Resident memory of each instance. It may grow with streams in flight and must not with time.',
          unit: 'bytes',
          queries: [{ expr: 'sum by (instance) (process_resident_memory_bytes)', legend: '{{instance}}' }],
          width: 8,
        },
        {
          kind: 'series',
          title: 'Background reads',
          description:
            'Replies that are read to their end for the bill alone, after a 524 or a client that left.',
          unit: 'short',
          queries: [{ expr: 'sum(sluice_background_reads)', legend: 'reads' }],
          width: 8,
        },
        {
          kind: 'series',
          title: 'In flight by endpoint',
          description: 'Exchanges that have begun and are not settled.',
          unit: 'short',
          queries: [{ expr: 'sum by (endpoint) (sluice_in_flight)', legend: '{{endpoint}}' }],
          width: 8,
        },
        {
          kind: 'series',
          title: 'Spans to the collector',
          description:
            'Of instances that send traces. Dropped: the collector is out, refuses them, or is slower than they come.',
          unit: 'short',
          queries: [
            { expr: `sum(${perSecond('sluice_spans_sent_total')})`, legend: 'sent' },
            {
              expr: `sum by (reason) (${perSecond('sluice_spans_dropped_total')})`,
              legend: 'dropped: {{reason}}',
            },
          ],
          width: 8,
          mayBeEmpty: true,
        },
        {
          kind: 'series',
          title: 'Request bodies in memory',
          description:
            'Bytes from their arrival to the end of their exchange; bounded by max_buffered_bytes.',
          unit: 'bytes',
          queries: [{ expr: 'sum by (instance) (sluice_buffered_request_bytes)', legend: '{{instance}}' }],
          width: 12,
        },
        {
          kind: 'series',
          title: 'Request bodies refused',
          description:
            'Answered 502 because a bound of the bytes in memory was reached, of one account or of all.',
          unit: 'short',
          queries: [
            { expr: `sum by (bound) (${perSecond('sluice_buffer_refusals_total')})`, legend: '{{bound}}' },
          ],
          width: 12,
        },
      ],
    },
  ],
};
