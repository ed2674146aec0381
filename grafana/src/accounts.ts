import type { Board } from './dashboard.ts';
import { perSecond, quantile } from './promql.ts';

/** Who is refused and why, how much room is left, and whether limits and ledger can be relied on. */
export const accounts: Board = {
  uid: 'sluice-accounts',
  title: 'Accounts and limits',
  description: 'Limits, their stores, and the ledger; accounts by name where metrics.account_label is on.',
  rows: [
    {
      title: 'Limits',
      panels: [
        {
          kind: 'stacked',
          title: 'Refused by limit',
          description: 'The limit that said no, per second; over is what a dry run would have refused.',
          unit: 'reqps',
          queries: [
            {
              expr: `sum by (limit, decision) (${perSecond('sluice_limit_decisions_total{decision!="admitted"}')})`,
              legend: '{{limit}} {{decision}}',
            },
          ],
          mayBeEmpty: true,
        },
        {
          kind: 'series',
          title: 'Room left, p10',
          description:
            'What remained of a limit after a decision, as a share of it: at 0 a tenth of requests met a full limit.',
          unit: 'percentunit',
          queries: [
            { expr: quantile(0.1, 'sluice_limit_headroom_ratio_bucket', 'limit'), legend: '{{limit}}' },
          ],
          thresholds: { warn: 0.2, bad: 0.05, falling: true },
          mayBeEmpty: true,
        },
      ],
    },
    {
      title: 'Accounts',
      panels: [
        {
          kind: 'series',
          title: 'Requests, ten busiest accounts',
          description: 'Needs metrics.account_label.',
          unit: 'reqps',
          queries: [
            {
              expr: `topk(10, sum by (account) (${perSecond('sluice_account_requests_total')}))`,
              legend: '{{account}}',
            },
          ],
          width: 8,
          mayBeEmpty: true,
        },
        {
          kind: 'series',
          title: 'Tokens, ten busiest accounts',
          description: 'Billable tokens per second. Needs metrics.account_label.',
          unit: 'short',
          queries: [
            {
              expr: `topk(10, sum by (account) (${perSecond('sluice_account_tokens_total')}))`,
              legend: '{{account}}',
            },
          ],
          width: 8,
          mayBeEmpty: true,
        },
        {
          kind: 'series',
          title: 'Cost per hour, ten dearest accounts',
          description: 'Needs metrics.account_label.',
          unit: 'currencyUSD',
          queries: [
            {
              expr: `topk(10, sum by (account) (${perSecond('sluice_account_cost_usd_total')})) * 3600`,
              legend: '{{account}}',
            },
          ],
          width: 8,
          mayBeEmpty: true,
        },
      ],
    },
    {
      title: 'Stores',
      panels: [
        {
          kind: 'series',
          title: 'Stores up',
          description:
            'state: counters and concurrency, shared by instances. records: keys, accounts and the ledger. Each operation on its own.',
          unit: 'short',
          queries: [
            { expr: 'min by (store, operation) (sluice_store_up)', legend: '{{store}} {{operation}}' },
          ],
          thresholds: { warn: 1, bad: 0.5, falling: true },
          width: 8,
          mayBeEmpty: true,
        },
        {
          kind: 'series',
          title: 'Store latency, p99',
          description: 'From asking a store to its answer. The state store is on the way of every request.',
          unit: 's',
          queries: [
            {
              expr: quantile(0.99, 'sluice_store_operation_duration_seconds_bucket', 'store', 'operation'),
              legend: '{{store}} {{operation}}',
            },
          ],
          thresholds: { warn: 0.02, bad: 0.1 },
          width: 8,
          mayBeEmpty: true,
        },
        {
          kind: 'stacked',
          title: 'Store errors',
          description:
            'Operations that a store did not do, or not in time; and how often its circuit breaker opened.',
          unit: 'ops',
          queries: [
            {
              expr: `sum by (store, operation) (${perSecond('sluice_store_errors_total')})`,
              legend: '{{store}} {{operation}}',
            },
            {
              expr: `sum by (store) (${perSecond('sluice_store_outages_total')})`,
              legend: '{{store}} outages',
            },
          ],
          width: 8,
          mayBeEmpty: true,
        },
        {
          kind: 'stacked',
          title: 'Decided without the state store',
          description: 'While it was out, by the policy that decided: open, closed or local.',
          unit: 'reqps',
          queries: [
            { expr: `sum by (policy) (${perSecond('sluice_state_alone_total')})`, legend: '{{policy}}' },
          ],
          mayBeEmpty: true,
        },
        {
          kind: 'series',
          title: 'Ledger queue',
          description:
            'Settled exchanges that are not in the ledger yet, in memory and on disk. It must come back to 0.',
          unit: 'short',
          queries: [{ expr: 'sum by (place) (sluice_ledger_queue_rows)', legend: '{{place}}' }],
          thresholds: { warn: 1000, bad: 100_000 },
        },
        {
          kind: 'series',
          title: 'Ledger rows',
          description: 'Written, and lost for good: any row that is dropped is money.',
          unit: 'ops',
          queries: [
            { expr: `sum(${perSecond('sluice_ledger_rows_total')})`, legend: 'written' },
            { expr: `sum(${perSecond('sluice_ledger_dropped_total')})`, legend: 'dropped' },
          ],
        },
        {
          kind: 'series',
          title: 'Settlements that wait',
          description:
            'For the state store to be back; those that were dropped keep their reservation counted.',
          unit: 'short',
          queries: [
            { expr: 'sum(sluice_state_settlements_waiting)', legend: 'waiting' },
            {
              expr: `sum by (reason) (${perSecond('sluice_state_settlements_dropped_total')})`,
              legend: 'dropped per second: {{reason}}',
            },
          ],
          mayBeEmpty: true,
        },
      ],
    },
  ],
};
