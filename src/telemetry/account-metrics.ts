import { errorNameOf, isServiceFailure } from '../common/end-class.ts';
import type { MeasuredEnd } from './measured.ts';
import { MetricSet } from './metric-factory.ts';

/** Accounts with series of their own; the rest share `_other`, so that the registry stays bounded. */
const max_accounts = 10_000;
/** Of one metric: an account has a series for every status. */
const max_series = 16 * max_accounts;

/** Usage by account, where it is switched on: a label for each account is more than every Prometheus can hold. */
export class AccountMetrics extends MetricSet {
  readonly #requests = this.metrics.counter({
    name: 'sluice_account_requests_total',
    help: 'Settled exchanges of an account.',
    labels: ['account', 'status'],
    max_series,
  });
  readonly #failures = this.metrics.counter({
    name: 'sluice_account_failures_total',
    help: 'Exchanges of an account that failed for a reason of the gateway or its providers, broken streams included.',
    labels: ['account'],
    max_series,
  });
  readonly #tokens = this.metrics.counter({
    name: 'sluice_account_tokens_total',
    help: 'Billable tokens of an account.',
    labels: ['account', 'kind'],
    max_series,
  });
  readonly #cost = this.metrics.counter({
    name: 'sluice_account_cost_usd_total',
    help: "Cost of an account's billable tokens at the catalog's prices.",
    labels: ['account'],
    max_series,
  });
  readonly #known = new Set<string>();

  settled({ account, status, end_reason, error_type, usage, cost_usd }: MeasuredEnd): void {
    if (account === undefined) return;
    if (this.#known.size < max_accounts) this.#known.add(account);
    const label = this.#known.has(account) ? account : '_other';
    this.#requests.labels(label, status).inc();
    const failures = this.#failures.labels(label);
    if (isServiceFailure(end_reason, errorNameOf(error_type, status))) failures.inc();
    this.#tokens.labels(label, 'input').inc(usage.prompt_tokens);
    this.#tokens.labels(label, 'output').inc(usage.completion_tokens);
    this.#cost.labels(label).inc(Number(cost_usd));
  }
}
