import type { Board } from './dashboard.ts';
import { perSecond, quantile } from './promql.ts';

const by = 'sluice_provider';
const provider = `${by}=~"$provider"`;
const both = `${provider},gen_ai_request_model=~"$model"`;
const duration = 'gen_ai_client_operation_duration_seconds';
/** Not those that were ended from here, nor requests that no provider would take. */
const failedType = 'error_type!~"|aborted|refused"';

/** What the gateway sees of its providers: latency, faults, and how they cover each other. */
export const providers: Board = {
  uid: 'sluice-providers',
  title: 'Providers',
  description: 'Attempts at providers: latency, faults, breakers, failover.',
  rows: [
    {
      title: 'Attempts',
      panels: [
        {
          kind: 'stacked',
          title: 'Attempts',
          description: 'Calls to each provider, per second. More than the requests means retries.',
          unit: 'reqps',
          queries: [
            { expr: `sum by (${by}) (${perSecond(`${duration}_count{${both}}`)})`, legend: `{{${by}}}` },
          ],
        },
        {
          kind: 'series',
          title: 'Failed attempts',
          description:
            'Share of the attempts at a provider that failed, whoever covered them; not those that clients left, or that were wrong.',
          unit: 'percentunit',
          queries: [
            {
              expr:
                `(sum by (${by}) (${perSecond(`${duration}_count{${both},${failedType}}`)}) or ` +
                `sum by (${by}) (${perSecond(`${duration}_count{${both}}`)}) * 0) / ` +
                `sum by (${by}) (${perSecond(`${duration}_count{${both}}`)})`,
              legend: `{{${by}}}`,
            },
          ],
          thresholds: { warn: 0.01, bad: 0.1 },
        },
        {
          kind: 'stacked',
          title: 'Failures by kind',
          description:
            'unreachable: refused, reset, no answer. status: 5xx. rate_limited: its 429. misconfigured: key, address or model name. broken: ended in mid-reply. invalid: not its format.',
          unit: 'reqps',
          queries: [
            {
              expr: `sum by (${by}, kind) (${perSecond(`sluice_upstream_errors_total{${provider}}`)})`,
              legend: `{{${by}}} {{kind}}`,
            },
          ],
          mayBeEmpty: true,
        },
        {
          kind: 'stacked',
          title: 'Failovers',
          description:
            'Attempts that followed a failed one: who had failed, who was asked next, and the kind of failure.',
          unit: 'reqps',
          queries: [
            {
              expr: `sum by (from, to, kind) (${perSecond(`sluice_failovers_total{from=~"$provider"}`)})`,
              legend: '{{from}} → {{to}} {{kind}}',
            },
          ],
          mayBeEmpty: true,
        },
      ],
    },
    {
      title: 'Latency',
      panels: [
        {
          kind: 'series',
          title: 'First chunk, p99',
          description: 'From sending to the first chunk of a stream.',
          unit: 's',
          queries: [
            {
              expr: quantile(0.99, `gen_ai_client_operation_time_to_first_chunk_seconds_bucket{${both}}`, by),
              legend: `{{${by}}}`,
            },
          ],
          width: 8,
        },
        {
          kind: 'series',
          title: 'Between chunks, p99',
          description: 'As chunks arrive from the provider; chunks that come together share their wait.',
          unit: 's',
          queries: [
            {
              expr: quantile(
                0.99,
                `gen_ai_client_operation_time_per_output_chunk_seconds_bucket{${both}}`,
                by,
              ),
              legend: `{{${by}}}`,
            },
          ],
          width: 8,
        },
        {
          kind: 'series',
          title: 'Whole attempt, p99',
          description: 'From sending to the last byte.',
          unit: 's',
          queries: [{ expr: quantile(0.99, `${duration}_bucket{${both}}`, by), legend: `{{${by}}}` }],
          width: 8,
        },
      ],
    },
    {
      title: 'Protection',
      panels: [
        {
          kind: 'series',
          title: 'Breakers',
          description: '1 while a breaker is not closed: the provider is left alone, or only probed.',
          unit: 'short',
          queries: [
            {
              expr: `sum by (${by}, state) (sluice_breaker_state{${provider},state!="closed"})`,
              legend: `{{${by}}} {{state}}`,
            },
          ],
          thresholds: { warn: 0.5, bad: 1 },
        },
        {
          kind: 'series',
          title: 'Healthy',
          description: '0 while the health check of a provider fails; 1 where none is configured.',
          unit: 'short',
          queries: [{ expr: `min by (${by}) (sluice_provider_healthy{${provider}})`, legend: `{{${by}}}` }],
          thresholds: { warn: 1, bad: 0.5, falling: true },
        },
        {
          kind: 'series',
          title: 'In flight and queued',
          description: 'Attempts under way, and requests that wait for one of max_concurrent places.',
          unit: 'short',
          queries: [
            {
              expr: `sum by (${by}) (sluice_provider_in_flight{${provider}})`,
              legend: `{{${by}}} in flight`,
            },
            { expr: `sum by (${by}) (sluice_provider_queued{${provider}})`, legend: `{{${by}}} queued` },
          ],
        },
        {
          kind: 'series',
          title: 'Waiting for a place, p99',
          description: 'Of requests that found all places of a provider taken.',
          unit: 's',
          queries: [
            {
              expr: quantile(0.99, `sluice_provider_queue_seconds_bucket{${provider}}`, by),
              legend: `{{${by}}}`,
            },
          ],
          mayBeEmpty: true,
        },
        {
          kind: 'stacked',
          title: 'Not covered',
          description:
            'Failures that went to the client before any answer, and what was missing to cover them.',
          unit: 'reqps',
          queries: [
            { expr: `sum by (reason) (${perSecond('sluice_retries_denied_total')})`, legend: '{{reason}}' },
            {
              expr: `sum(${perSecond('sluice_overload_refusals_total')}) or vector(0)`,
              legend: 'all upstreams full',
            },
          ],
          mayBeEmpty: true,
        },
        {
          kind: 'stacked',
          title: 'Unusual ends of replies',
          description:
            'Finish reasons that no adapter knows, which clients see as stop, and errors after the last finish reason, when the answer was whole.',
          unit: 'reqps',
          queries: [
            {
              expr: `sum by (${by}, finish_reason) (${perSecond(`sluice_unknown_finish_reasons_total{${provider}}`)})`,
              legend: `{{${by}}} {{finish_reason}}`,
            },
            {
              expr: `sum by (${by}) (${perSecond(`sluice_late_upstream_errors_total{${provider}}`)})`,
              legend: `{{${by}}} late error`,
            },
          ],
          mayBeEmpty: true,
        },
        {
          kind: 'stacked',
          title: 'Output tokens by provider',
          description: 'Billable output tokens per second, by who generated them.',
          unit: 'short',
          queries: [
            {
              expr: `sum by (${by}) (${perSecond(`gen_ai_client_token_usage_sum{${both},gen_ai_token_type="output"}`)})`,
              legend: `{{${by}}}`,
            },
          ],
        },
      ],
    },
  ],
};
