import type { Registry } from 'prom-client';
import type { MeasuredEnd } from './measured.ts';
import { SeriesCounter } from './series.ts';

/** As many accounts as have series of their own; the rest share `_other`, so that the registry stays bounded. */
const max_accounts = 10_000;

/** Who uses what, where it is switched on: a label for each account is more than every Prometheus can hold. */
export class AccountMetrics {
  readonly #requests;
  readonly #tokens;
  readonly #cost;
  readonly #known = new Set<string>();

  constructor(registry: Registry) {
    const registers = [registry];
    this.#requests = new SeriesCounter({
      name: 'sluice_account_requests_total',
      help: 'Exchanges of an account that have ended.',
      labelNames: ['account', 'status'],
      registers,
    });
    this.#tokens = new SeriesCounter({
      name: 'sluice_account_tokens_total',
      help: 'Billable tokens of an account.',
      labelNames: ['account', 'kind'],
      registers,
    });
    this.#cost = new SeriesCounter({
      name: 'sluice_account_cost_usd_total',
      help: "Cost of an account's billable tokens at the catalog's prices.",
      labelNames: ['account'],
      registers,
    });
  }

  settled({ account, status, usage, cost_usd }: MeasuredEnd): void {
    if (account === undefined) return;
    if (this.#known.size < max_accounts) this.#known.add(account);
    const label = this.#known.has(account) ? account : '_other';
    this.#requests.add(1, label, status);
    this.#tokens.add(usage.prompt_tokens, label, 'input');
    this.#tokens.add(usage.completion_tokens, label, 'output');
    this.#cost.add(Number(cost_usd), label);
  }
}
