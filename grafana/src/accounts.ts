import type { Board } from './dashboard.ts';
import { type Expr, max, min, of, orZero, promql, quantile, rate, sum } from './promql.ts';

const store = '{{store}} {{operation}}';
const ofStore = ['store', 'operation'] as const;
const topTen = (expr: Expr) => ({ '{{account}}': promql`topk(10, ${expr})` });

/** Who is refused and why, how much room is left, and whether limits and ledger can be relied on. */
export const accounts: Board = {
  uid: 'sluice-accounts',
  title: 'Accounts and limits',
  description: 'Limits, their stores, and the ledger; accounts by name where metrics.account_label is on.',
  rows: [
    {
      id: 1,
      title: 'Limits',
      across: 3,
      panels: [
        {
          id: 2,
          kind: 'series',
          title: 'Fullest limits',
          description:
            'Used share of the fullest accounts’ limits, from a half on. At 100 % and above requests are refused.',
          unit: 'percentunit',
          queries: {
            '{{account}} {{limit}}': promql`topk(20, ${max(of('sluice_limit_used_ratio'), 'account', 'limit')})`,
          },
          thresholds: { warn: 0.8, bad: 1 },
        },
        {
          id: 3,
          kind: 'series',
          title: 'Refused by limit',
          description:
            'Requests per second, by the limit that refused them. over: what a dry run would have refused, for each limit.',
          unit: 'reqps',
          queries: {
            '{{limit}} {{decision}}': rate(
              of('sluice_limit_decisions_total', 'decision!="admitted"'),
              'limit',
              'decision',
            ),
          },
        },
        {
          id: 4,
          kind: 'series',
          title: 'Room left, p10',
          description:
            'What remained of a limit after a decision, as a share of it: at 0 a tenth of requests met a full limit.',
          unit: 'percentunit',
          queries: { '{{limit}}': quantile(0.1, of('sluice_limit_headroom_ratio'), 'limit') },
          thresholds: { warn: 0.2, bad: 0.05, falling: true },
        },
      ],
    },
    {
      id: 5,
      title: 'Accounts',
      across: 3,
      panels: [
        {
          id: 6,
          kind: 'series',
          title: 'Requests, ten busiest accounts',
          description: 'Needs metrics.account_label.',
          unit: 'reqps',
          queries: topTen(rate(of('sluice_account_requests_total'), 'account')),
        },
        {
          id: 7,
          kind: 'series',
          title: 'Tokens, ten busiest accounts',
          description: 'Billable tokens per second, input and output. Needs metrics.account_label.',
          unit: 'short',
          queries: topTen(rate(of('sluice_account_tokens_total'), 'account')),
        },
        {
          id: 8,
          kind: 'series',
          title: 'Cost per hour, ten dearest accounts',
          description: 'Needs metrics.account_label.',
          unit: 'currencyUSD',
          queries: topTen(promql`${rate(of('sluice_account_cost_usd_total'), 'account')} * 3600`),
        },
      ],
    },
    {
      id: 9,
      title: 'Stores',
      across: 3,
      panels: [
        {
          id: 10,
          kind: 'stacked',
          title: 'Store operations that fail',
          description:
            '1 for each operation of a store that fails in any instance. state: counters and concurrency, shared by instances. records: keys, accounts and the ledger.',
          unit: 'short',
          queries: { [store]: promql`1 - ${min(of('sluice_store_up'), ...ofStore)}` },
        },
        {
          id: 11,
          kind: 'series',
          title: 'Store latency, p99',
          description: 'From asking a store to its answer. The state store is on the way of every request.',
          unit: 's',
          queries: { [store]: quantile(0.99, of('sluice_store_operation_duration_seconds'), ...ofStore) },
          thresholds: { warn: 0.02, bad: 0.1 },
        },
        {
          id: 12,
          kind: 'series',
          title: 'Store errors',
          description:
            'Operations that a store did not do, or not in time; and how often its circuit breaker opened.',
          unit: 'ops',
          queries: {
            [store]: rate(of('sluice_store_errors_total'), ...ofStore),
            '{{store}} outages': rate(of('sluice_store_outages_total'), 'store'),
          },
        },
        {
          id: 13,
          kind: 'stacked',
          title: 'Decided without the state store',
          description: 'While it was down, by the policy that decided: open, closed or local.',
          unit: 'reqps',
          queries: { '{{policy}}': rate(of('sluice_state_alone_total'), 'policy') },
        },
        {
          id: 14,
          kind: 'series',
          title: 'Settlements that wait',
          description:
            'For the state store to be back; those that were dropped keep their reservation counted.',
          unit: 'short',
          queries: {
            waiting: sum(of('sluice_state_settlements_waiting')),
            'dropped per second: {{reason}}': rate(of('sluice_state_settlements_dropped_total'), 'reason'),
          },
        },
        {
          id: 15,
          kind: 'series',
          title: 'Instances that share the state store',
          description: 'As each instance counts them, at its last heartbeat. They must agree.',
          unit: 'short',
          queries: { '{{instance}}': max(of('sluice_state_instances'), 'instance') },
        },
      ],
    },
    {
      id: 16,
      title: 'Ledger',
      across: 3,
      panels: [
        {
          id: 17,
          kind: 'series',
          title: 'Age of the oldest row',
          description:
            'How long the oldest settled request has waited for the store, in memory or on disk. It must come back to 0.',
          unit: 's',
          queries: { '{{instance}}': max(of('sluice_ledger_oldest_row_age_seconds'), 'instance') },
          thresholds: { warn: 60, bad: 600 },
        },
        {
          id: 18,
          kind: 'stacked',
          title: 'Ledger queue',
          description: 'Settled requests that are not in the ledger yet, in memory and on disk.',
          unit: 'short',
          queries: { '{{place}}': sum(of('sluice_ledger_queue_rows'), 'place') },
          thresholds: { warn: 1000, bad: 100_000 },
        },
        {
          id: 19,
          kind: 'series',
          title: 'Ledger rows',
          description:
            'Written; lost for good, by reason: any such row is money; and deleted after stores.retention.',
          unit: 'ops',
          queries: {
            written: rate(of('sluice_ledger_rows_total')),
            'lost: {{reason}}': rate(of('sluice_ledger_dropped_total'), 'reason'),
            'deleted after their retention': orZero(rate(of('sluice_records_pruned_total'))),
          },
        },
      ],
    },
  ],
};
