import type { Charge } from '../../../src/gateway/limits/limit-units.ts';
import type { LedgerRow } from '../../../src/gateway/settlement/ledger-entry.ts';
import { Dice } from '../../../src/simulator/seed.ts';
import { madeUpRow } from '../../support/dashboard-traffic.ts';

/** An exchange of the simulated month: where it is served, and its row once it has ended. */
export interface MadeExchange {
  readonly instance: number;
  readonly account: string;
  readonly row: LedgerRow;
  /** What is reserved; what is used is in the row. */
  readonly charge: Charge;
}

const models = Array.from({ length: 20 }, (_, at) => `vendor/model-${at}`);
const price = 3;

/** Exchanges of accounts of which a few make most requests, at instances that are as likely; the same in every run. */
export class MadeExchanges {
  readonly #dice = new Dice(1);
  readonly #accounts: number;
  readonly #instances: number;

  constructor(accounts: number, instances: number) {
    this.#accounts = accounts;
    this.#instances = instances;
  }

  /** The next, begun at that time. */
  at(started_ms: number): MadeExchange {
    const dice = this.#dice;
    const account = `customer-${Math.floor(this.#accounts * dice.roll() ** 3)}`;
    const row = madeUpRow(account, dice.pick(models), price, started_ms, () => dice.roll());
    const charge = { requests: 1, tokens: row.prompt_tokens + 2000, nano_usd: 20_000_000 };
    return { instance: dice.integer(0, this.#instances - 1), account, row, charge };
  }
}

/** What the exchange has used at its end. */
export const usedBy = ({ prompt_tokens, completion_tokens, cost_usd }: LedgerRow): Charge => ({
  requests: 1,
  tokens: prompt_tokens + completion_tokens,
  nano_usd: Math.round(Number(cost_usd) * 1e9),
});
