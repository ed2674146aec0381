import type { Board } from './dashboard.ts';
import { row } from './layout.ts';
import { series, stacked } from './panel.ts';
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
    row(1, 'Limits', 3, [
      series(
        2,
        'Fullest limits',
        'percentunit',
        'Used share of the fullest accounts’ limits, from a half on. At 100 % and above requests are refused.',
        {
          '{{account}} {{limit}}': promql`topk(20, ${max(of('sluice_limit_used_ratio'), 'account', 'limit')})`,
        },
        { thresholds: { warn: 0.8, bad: 1 } },
      ),
      series(
        3,
        'Refused by limit',
        'reqps',
        'Requests per second, by the limit that refused them. over: what a dry run would have refused, for each limit.',
        {
          '{{limit}} {{decision}}': rate(
            of('sluice_limit_decisions_total', 'decision!="admitted"'),
            'limit',
            'decision',
          ),
        },
      ),
      series(
        4,
        'Room left, p10',
        'percentunit',
        'What remained of a limit after a decision, as a share of it: at 0 a tenth of requests met a full limit.',
        { '{{limit}}': quantile(0.1, of('sluice_limit_headroom_ratio'), 'limit') },
        { thresholds: { warn: 0.2, bad: 0.05, falling: true } },
      ),
    ]),
    row(5, 'Accounts', 3, [
      series(
        6,
        'Requests, ten busiest accounts',
        'reqps',
        'Needs metrics.account_label.',
        topTen(rate(of('sluice_account_requests_total'), 'account')),
      ),
      series(
        7,
        'Tokens, ten busiest accounts',
        'short',
        'Billable tokens per second, input and output. Needs metrics.account_label.',
        topTen(rate(of('sluice_account_tokens_total'), 'account')),
      ),
      series(
        8,
        'Cost per hour, ten dearest accounts',
        'currencyUSD',
        'Needs metrics.account_label.',
        topTen(promql`${rate(of('sluice_account_cost_usd_total'), 'account')} * 3600`),
      ),
    ]),
    row(9, 'Stores', 3, [
      stacked(
        10,
        'Store operations that fail',
        'short',
        '1 for each operation of a store that fails in any instance. state: counters and concurrency, shared by instances. records: keys, accounts and the ledger.',
        { [store]: promql`1 - ${min(of('sluice_store_up'), ...ofStore)}` },
      ),
      series(
        11,
        'Store latency, p99',
        's',
        'From asking a store to its answer. The state store is on the way of every request.',
        { [store]: quantile(0.99, of('sluice_store_operation_duration_seconds'), ...ofStore) },
        { thresholds: { warn: 0.02, bad: 0.1 } },
      ),
      series(
        12,
        'Store errors',
        'ops',
        'Operations that a store did not do, or not in time; and how often its circuit breaker opened.',
        {
          [store]: rate(of('sluice_store_errors_total'), ...ofStore),
          '{{store}} outages': rate(of('sluice_store_outages_total'), 'store'),
        },
      ),
      stacked(
        13,
        'Decided without the state store',
        'reqps',
        'While it was down, by the policy that decided: open, closed or local.',
        { '{{policy}}': rate(of('sluice_state_alone_total'), 'policy') },
      ),
      series(
        14,
        'Settlements that wait',
        'short',
        'Exchanges decided without the state store whose use it does not know yet.',
        { waiting: sum(of('sluice_state_settlements_waiting')) },
      ),
      series(
        15,
        'Instances that share the state store',
        'short',
        'As each instance counts them, at its last heartbeat. They must agree.',
        { '{{instance}}': max(of('sluice_state_instances'), 'instance') },
      ),
    ]),
    row(16, 'Ledger', 3, [
      series(
        17,
        'Age of the oldest row',
        's',
        'How long the oldest settled request has waited for the store, in memory or on disk. It must come back to 0.',
        { '{{instance}}': max(of('sluice_ledger_oldest_row_age_seconds'), 'instance') },
        { thresholds: { warn: 60, bad: 600 } },
      ),
      stacked(
        18,
        'Ledger queue',
        'short',
        'Settled requests that are not in the ledger yet, in memory and on disk.',
        { '{{place}}': sum(of('sluice_ledger_queue_rows'), 'place') },
        { thresholds: { warn: 1000, bad: 100_000 } },
      ),
      series(
        19,
        'Ledger rows',
        'ops',
        'Written; lost for good, by reason: any such row is money; and deleted after stores.retention.',
        {
          written: rate(of('sluice_ledger_rows_total')),
          'lost: {{reason}}': rate(of('sluice_ledger_dropped_total'), 'reason'),
          'deleted after their retention': orZero(rate(of('sluice_records_pruned_total'))),
        },
      ),
    ]),
  ],
};
