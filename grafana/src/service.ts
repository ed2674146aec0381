import type { Board } from './dashboard.ts';
import { glance } from './glance.ts';
import { hurt } from './hurt.ts';
import { row } from './layout.ts';
import { series, stacked } from './panel.ts';
import { processes } from './processes.ts';
import { of, ofModel, orZero, promql, quantiles, rate, share } from './promql.ts';
import { providerTable } from './provider-table.ts';
import { ended, endedAs } from './requests.ts';

const tokensOf = (...matchers: readonly string[]) => rate(of('sluice_tokens_total', ofModel, ...matchers));
const tokens = (kind: string) => orZero(tokensOf(`kind="${kind}"`));
const cost = of('sluice_cost_usd_total', ofModel);

/** Is the service healthy, what does it do, what does it cost. */
export const service: Board = {
  uid: 'sluice-service',
  title: 'Service',
  description: 'The golden signals as clients see them, saturation, tokens, and cost.',
  rows: [
    glance,
    hurt,
    row(21, 'Requests', 2, [
      stacked(
        22,
        'Why exchanges ended',
        'reqps',
        'completed is good; client_gone and slow_client are the clients, the rest is ours or the providers.',
        { '{{end_reason}}': ended('end_reason') },
      ),
      stacked(
        23,
        'Errors by type',
        'reqps',
        'The types that clients see in the envelope, per second, by whose they are: failures of providers or the gateway, refusals (keys, rights, limits), and errors of clients.',
        {
          'provider: {{error_type}}': endedAs('provider_failed', 'error_type'),
          'gateway: {{error_type}}': endedAs('gateway_failed', 'error_type'),
          'refused: {{error_type}}': endedAs('refusal', 'error_type'),
          'client: {{error_type}}': endedAs('client_error', 'error_type'),
        },
      ),
      series(
        24,
        'Duration',
        's',
        'Of requests without an error, from the first header to settlement. Long is normal for long answers; look at the time per token.',
        quantiles(of('gen_ai_server_request_duration_seconds', ofModel, 'error_type=""'), 0.5, 0.9, 0.99),
      ),
      series(
        25,
        'Time per output token',
        's',
        'Of streams, after the first token. A rise without more requests is a slower engine.',
        quantiles(of('gen_ai_server_time_per_output_token_seconds', ofModel), 0.5, 0.99),
      ),
    ]),
    row(26, 'Providers', 2, [{ ...providerTable(27), leadsTo: 'sluice-providers', rowSets: 'provider' }]),
    row(28, 'Tokens and cost', 2, [
      stacked(
        29,
        'Tokens by kind',
        'short',
        'Billable tokens per second, each counted once: the top of the stack is all input and output. Reasoning is a part of what is billed as output.',
        {
          'input, not cached': promql`clamp_min(${tokens('input')} - ${tokens('cached')} - ${tokens('cache_creation')}, 0)`,
          'input, from cache': tokens('cached'),
          'input, written to cache': tokens('cache_creation'),
          'output, reasoning': tokens('reasoning'),
          'output, answer': promql`clamp_min(${tokens('output')} - ${tokens('reasoning')}, 0)`,
        },
      ),
      stacked(30, 'Cost by model', 'currencyUSD', "USD per hour at the catalog's prices.", {
        '{{gen_ai_request_model}}': promql`${rate(cost, 'gen_ai_request_model')} * 3600`,
      }),
      series(
        31,
        'Estimated share',
        'percentunit',
        'Output tokens that were estimated because the upstream never told: broken or cancelled streams.',
        {
          estimated: share(tokensOf('kind="output"', 'source="estimated"'), tokensOf('kind="output"')),
        },
        { thresholds: { warn: 0.05, bad: 0.2 } },
      ),
      series(
        32,
        'Estimator against upstream',
        'short',
        'Estimated output tokens divided by the upstream’s own figure, where it came: 1 is exact.',
        quantiles(of('sluice_usage_estimate_error_ratio', ofModel), 0.1, 0.5, 0.9),
      ),
    ]),
    ...processes,
  ],
  traces: [60, 61],
  logs: [67, 68],
};
