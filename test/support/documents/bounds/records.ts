import { ledgerDefaults } from '../../../../src/mount/ledger/ledger.ts';
import { max_display_name } from '../../../../src/records/account-records.ts';
import { idempotency_ms } from '../../../../src/records/idempotent-requests.ts';
import { machine_times, told_machine_times } from '../../../../src/records/lease-protocol.ts';
import { max_reason } from '../../../../src/records/provider-controls.ts';
import { constantIn, days, minutes, numbersIn, seconds } from '../constants.ts';
import type { Bound } from '../numbers.ts';

const account_age = seconds('src/mount/records/cached-lookups.ts', 'current_ms');
const kept_days = days('src/records/pruning.ts', 'hours_ms');

/** Sentences with a number in place of `{}`, of which all have the same. */
const each = (is: number, says: readonly string[]): Bound[] => says.map(sentence => ({ says: sentence, is }));

/** The numbers of accounts, keys, limits and the ledger. */
export const recordsBounds: readonly Bound[] = [
  ...each(account_age, [
    'every running instance within {} seconds',
    'every instance within {} seconds',
    'Every running instance refuses it within {} seconds',
    'every instance refuses it within {} seconds',
    'Postgres | within {} seconds',
    'The change holds within {} seconds',
    '`after the raise: 200`, within {} seconds',
    'in others within {} seconds',
    'At other instances it is within {} seconds',
  ]),
  {
    says: 'Postgres | within {} second |',
    is: Math.ceil(2 * seconds('src/mount/records/store-sync.ts', 'usual_ms')),
  },
  ...each(kept_days, [
    'kept for {} days',
    'go back {} days',
    'Print the bill within {} days',
    'also of the past {} days',
    'keys more than {} days ago',
  ]),
  {
    says: 'At most {} days; by key the last {}.',
    is: [constantIn('plugins/dialects/usage/usage-answer.ts', 'max_days'), kept_days],
  },
  {
    says: 'An instance answers {} requests of an account in a minute',
    is: constantIn('plugins/dialects/usage/account-pace.ts', 'max_per_minute'),
  },
  ...each(numbersIn('src/records/key-secret.ts', /key\.slice\(-(\d+)\)/)[0]!, [
    'its last {} characters are kept',
    'SHA-256 and last {} characters',
  ]),
  {
    says: 'A key** is {} random bits',
    is: 8 * numbersIn('src/records/key-secret.ts', /randomBytes\((\d+)\)/)[0]!,
  },
  // An interval in which it is written, and one in which that fails.
  {
    says: 'within {} a minute',
    is: 2 * minutes('src/mount/records/key-uses.ts', 'write_ms'),
  },
  { says: 'with the same key within {} hours', is: idempotency_ms / 3_600_000 },
  {
    says: 'at most {}; no other account may have it',
    is: numbersIn('plugins/admin-api/routes/accounts.ts', /\.max\((\d+)\)\s+\.describe\('Letters/),
  },
  {
    says: 'with at most {} decimal places',
    is: constantIn('src/common/money.ts', 'nano_decimals'),
  },
  { says: 'beside the name, {} characters at most', is: max_display_name },
  { says: 'for other operators; {} characters at most', is: max_reason },
  {
    says: 'It works once, and ends after {} days',
    is: days('plugins/dashboard/pages/account-people.ts', 'invited_ms'),
  },
  {
    says: 'are its last {} requests in the ledger',
    is: constantIn('plugins/dashboard/traffic-figures.ts', 'max_own_rows'),
  },
  {
    says: 'more than {} its estimate',
    is: constantIn('plugins/stages/rate-limit/request-charge.ts', 'prompt_margin'),
  },
  {
    says: 'and {} the estimated prompt',
    is: constantIn('plugins/stages/rate-limit/request-charge.ts', 'prompt_margin'),
  },
  {
    says: 'The request waits at most {} seconds',
    is: seconds('src/mount/state/past-restorer.ts', 'patience_ms'),
  },
  { says: '{} second at most', is: machine_times.patience_ms / 1000 },
  ...each(Math.round(told_machine_times.report_ms / 1000), [
    'reports its use {} a second',
    'serves an account reports {} a second',
  ]),
  {
    says: 'the first {} of a kind in a minute, and at most {} of all kinds',
    is: ['samples_per_kind', 'max_samples'].map(name =>
      constantIn('src/mount/ledger/refusal-counter.ts', name),
    ),
  },
  { says: 'batches grow to {} rows', is: ledgerDefaults.batch_rows },
  { says: 'Rows are collected for {} ms', is: ledgerDefaults.flush_ms },
  // While the store is slow they also wait for it, and for the file.
  {
    says: 'the rows of its last {} ms, or of {} s while the store is slow',
    is: [ledgerDefaults.flush_ms, (2 * ledgerDefaults.flush_ms + ledgerDefaults.patience_ms) / 1000],
  },
  { says: 'it writes the waiting rows within {} seconds', is: ledgerDefaults.close_ms / 1000 },
  {
    says: 'Each gateway has up to {}.',
    is: constantIn('plugins/stores/postgres/postgres.ts', 'max_connections'),
  },
];
