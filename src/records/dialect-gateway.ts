import type { Clock } from '../common/clock.ts';
import type { Account } from '../gateway/accounts/accounts.ts';
import { defineKey } from '../gateway/exchange/exchange-view.ts';
import type { Log } from '../telemetry/log.ts';
import type { KeyRecords } from './key-records.ts';
import type { LimitState } from './limit-states.ts';
import type { StoredResponses } from './stored-responses.ts';
import type { UsageRecords } from './usage-records.ts';

/** What dialects may use of the gateway in which they are. */
export interface DialectGateway {
  /** Time of day; the option `clock` of `createGateway` replaces it. */
  readonly clock: Clock;
  /** The gateway's log. */
  readonly log: Log;
  /** Stored responses; undefined if the records store keeps none. */
  readonly responses: StoredResponses | undefined;
  /** What exchanges add up to. */
  readonly usage: Pick<UsageRecords, 'sum'>;
  /** Keys by their ids. */
  readonly keys: Pick<KeyRecords, 'named'>;
  /** The use of every limit of an account, and of those of the key that was used. Rejects if the state store does not answer. */
  limitsOf(account: Account): Promise<LimitState[]>;
}

/** The key under which `get` of a dialect's setup has it. */
export const dialectGateway = defineKey<DialectGateway>('what dialects use of their gateway');
