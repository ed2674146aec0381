import type { IncomingMessage } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import QuickLRU from 'quick-lru';
import { z } from 'zod';
import type { Clock } from '../../common/clock.ts';
import { issuesOf, shownIssue } from '../../common/config-error.ts';
import { shown } from '../../common/field-path.ts';
import { within } from '../../common/within.ts';
import { type Account, type AccountDirectory, unusableAccount } from '../../gateway/accounts/accounts.ts';
import { GatewayError, refusal } from '../../gateway/exchange/errors.ts';
import type { FindAccount } from '../../gateway/exchange/stage-plan.ts';
import { limitOverridesSchema, type Plans } from '../../gateway/limits/plan-limits.ts';
import type { GivenAccounts } from '../../records/define-extension.ts';
import { ThrottledLog } from '../../telemetry/throttled-log.ts';

/** Time for a promise of `accountOf`. */
const answer_ms = 10_000;
const max_id_characters = 256;
/** Accounts given by the application that are remembered: those used last, and up to as many before them. */
const given_accounts = { maxSize: 5_000 };

/**
 * An account that the application keeps itself. It is the whole account: nothing is looked up under its id. Refused only if the records
 * store has an account of this id that is disabled.
 */
export interface ApplicationAccount {
  /** Limits, ledger and metrics count for this id: 1 to 256 characters. */
  readonly id: string;
  /** A plan of the configuration. */
  readonly plan?: string | undefined;
  /** Limits in place of those of the plan, name by name; `null` lifts one. */
  readonly limits?: z.input<typeof limitOverridesSchema> | undefined;
}

/** What `accountOf` may answer: the id of an account, an account, or `undefined` to have the request's key decide. */
export type AccountAnswer = string | ApplicationAccount | undefined;

/** Says whose request it is, from what the application's middleware has put on it. */
export type AccountOf<R extends IncomingMessage = IncomingMessage> = (
  request: R,
) => AccountAnswer | PromiseLike<AccountAnswer>;

/** A request, and where faults of the application are logged. */
type Asked = Parameters<FindAccount>[0];

const accepted = "an account's id, { id, plan, limits }, or undefined to ask for a key";

const accountSchema = z.strictObject({
  id: z
    .string('must be the id of the account, a string')
    .min(1, 'must not be empty')
    .max(max_id_characters, `must have at most ${max_id_characters} characters`)
    // Neither Postgres nor a log takes them all.
    .refine(
      id => id.isWellFormed() && !/\p{Cc}/u.test(id) && id.trim() === id,
      'must have no control characters and no space around it',
    ),
  plan: z.string('must be the name of a plan').optional(),
  limits: limitOverridesSchema.optional(),
});

type Fault = 'unknown' | 'unusable' | 'failed';

interface Setup {
  readonly accounts: AccountDirectory;
  /** The plans that accounts may have. */
  readonly plans: Plans;
  /** Whether a stage of the chain holds limits. */
  readonly holdsLimits: boolean;
  readonly clock: Clock;
}

/** The accounts that an application names by its option `accountOf`. */
export class ApplicationAccounts implements GivenAccounts {
  readonly #accountOf: AccountOf;
  readonly #setup: Setup;
  readonly #log: ThrottledLog<Fault>;
  readonly #given = new QuickLRU<string, Account>(given_accounts);

  /** Remembers the accounts that `before` was given, but those whose plan has gone. */
  constructor(accountOf: AccountOf, setup: Setup, before?: ApplicationAccounts) {
    this.#accountOf = accountOf;
    this.#setup = setup;
    this.#log = new ThrottledLog(setup.clock);
    if (!before) return;
    for (const [id, account] of before.#given.entriesAscending())
      if (account.plan === undefined || Object.hasOwn(setup.plans, account.plan))
        this.#given.set(id, account);
  }

  readonly find: FindAccount = (exchange, accounts = this.#setup.accounts) => {
    let answer: AccountAnswer | PromiseLike<AccountAnswer>;
    try {
      answer = this.#accountOf(exchange.incoming);
      if (isPromise(answer)) return this.#settled(exchange, answer, accounts);
    } catch (thrown) {
      throw this.#failed(exchange, thrown);
    }
    return this.#account(exchange, answer, accounts);
  };

  lastGiven(id: string): Account | undefined {
    return this.#given.get(id);
  }

  given(part: string, limit: number): readonly Account[] {
    const wanted = part.toLowerCase();
    const found: Account[] = [];
    for (const [id, account] of this.#given.entriesDescending()) {
      if (found.length === limit) break;
      if (id.toLowerCase().includes(wanted)) found.push(account);
    }
    return found;
  }

  async #settled(
    exchange: Asked,
    pending: PromiseLike<AccountAnswer>,
    accounts: AccountDirectory,
  ): Promise<Account | undefined> {
    const late = () => new Error(`its promise has not settled within ${answer_ms / 1000} s`);
    const answer = await within(Promise.resolve(pending), answer_ms, late).catch((thrown): never => {
      throw this.#failed(exchange, thrown);
    });
    return this.#account(exchange, answer, accounts);
  }

  #account(exchange: Asked, answer: unknown, accounts: AccountDirectory) {
    if (answer === undefined) return undefined;
    if (typeof answer === 'object' && answer !== null) return this.#accountGiven(exchange, answer, accounts);
    if (typeof answer !== 'string' || answer === '')
      throw this.#unusable(exchange, `returned ${shown(answer)}`, `it must return ${accepted}`);
    const found = accounts.findById(answer);
    return found instanceof Promise
      ? found.then(account => account ?? this.#unknown(exchange, answer))
      : (found ?? this.#unknown(exchange, answer));
  }

  /** The account that the application keeps itself. */
  #accountGiven(exchange: Asked, answer: object, accounts: AccountDirectory): Account {
    let parsed: ReturnType<typeof accountSchema.safeParse>;
    try {
      parsed = accountSchema.safeParse(answer);
    } catch (thrown) {
      throw this.#failed(exchange, thrown);
    }
    if (!parsed.success) {
      const mistakes = issuesOf(parsed.error, accountSchema, answer).map(shownIssue).join('; ');
      throw this.#unusable(exchange, 'returned an account that cannot be used', mistakes);
    }
    const { id, plan, limits } = parsed.data;
    const { plans } = this.#setup;
    if (plan !== undefined && !Object.hasOwn(plans, plan)) {
      const names = Object.keys(plans).join(', ') || 'there are none';
      const fault = `returned account ${shown(id)} with the plan ${shown(plan)}`;
      throw this.#unusable(exchange, fault, `it must be one of plans: ${names}`);
    }
    if (limits && !this.#setup.holdsLimits) {
      const fault = `returned account ${shown(id)} with limits`;
      throw this.#unusable(exchange, fault, 'nothing holds them: the chain must list rate-limit');
    }
    // An operator has disabled an account of this name: the application may not know.
    if (accounts.isDisabled?.(id))
      throw refusal('account_disabled', { cause: `account ${shown(id)} is disabled` });
    return this.#same({ id, plan, limits });
  }

  /** The account that was given last if nothing has changed, for which stages have made what they need already. */
  #same(account: Account): Account {
    const last = this.#given.get(account.id);
    if (last && isDeepStrictEqual(last, account)) return last;
    this.#given.set(account.id, Object.freeze(account));
    return account;
  }

  #unknown(exchange: Asked, id: string): never {
    const fault = `accountOf returned ${shown(id)}, and there is no such account; create it in the dashboard or the configuration, or return { id, plan, limits }`;
    this.#log.write('unknown', exchange.log, 'warn', {}, fault);
    throw refusal('unknown_account', { cause: fault });
  }

  #unusable(exchange: Asked, fault: string, accepts: string): GatewayError {
    const message = `accountOf ${fault}; ${accepts}`;
    this.#log.write('unusable', exchange.log, 'error', {}, message);
    return unusableAccount(message);
  }

  /** The GatewayError that was thrown; `server_error` for anything else, which is logged with its stack now and then, and else shortly. */
  #failed(exchange: Asked, thrown: unknown): GatewayError {
    if (GatewayError.is(thrown)) return thrown;
    this.#log.write('failed', exchange.log, 'error', { err: thrown }, 'accountOf failed');
    const why = thrown instanceof Error ? String(thrown.message) : shown(thrown);
    return refusal('server_error', { cause: `accountOf failed: ${why.slice(0, 500)}` });
  }
}

const isPromise = <T>(answer: T | PromiseLike<T>): answer is PromiseLike<T> =>
  typeof (answer as { then?: unknown } | null | undefined)?.then === 'function';
