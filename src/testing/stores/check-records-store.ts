import { timeOrderedUuid } from '../../common/ids.ts';
import type { LedgerRow } from '../../gateway/settlement/ledger-entry.ts';
import type { RecordsPlace } from '../../records/define-records-store.ts';
import type { RecordsStore } from '../../records/records-store.ts';
import { checkStoredResponses } from './check-stored-responses.ts';
import { Expectation } from './expectation.ts';

const now_ms = Date.parse('2026-11-20T12:00:00Z');
const operator = { actor: 'cli:check', at_ms: now_ms };

type Check = (store: RecordsStore, expect: Expectation) => Promise<void>;

/**
 * Checks that a records store keeps what `RecordsStore` promises: what is written is read, once and by the right name, and what is refused is
 * refused with the right error. Needs an empty place, and leaves records there. Throws a ContractError that names the store, what was
 * expected and what came.
 */
export async function checkRecordsStore(place: RecordsPlace): Promise<void> {
  const expect = new Expectation(place.name);
  const store = await place.open();
  try {
    await store.migrate(now_ms);
    // Every start calls it.
    await store.migrate(now_ms + 1);
    for (const check of [
      checkAccounts,
      checkKeys,
      checkLedger,
      checkPeople,
      checkStoredResponses,
      checkPruning,
    ])
      await check(store, expect);
  } finally {
    await store.close();
  }
  await expect.rejects('ending', 'a closed store answers', 'StoreUnavailable', () =>
    store.accounts.find('acme'),
  );
}

const checkAccounts: Check = async ({ accounts, changes }, expect) => {
  const before = (await changes.since(undefined)).change;
  const made = await accounts.create(
    { id: 'acme', plan: 'free', limits: { requests_per_minute: 3 } },
    operator,
  );
  expect.same('records', 'an account is not found as it was made', made, await accounts.find('acme'));
  expect.same('records', 'an unknown account is found', undefined, await accounts.find('nobody'));
  await expect.rejects('refusals', 'a name is taken twice, in another case', 'AlreadyThere', () =>
    accounts.create({ id: 'ACME', plan: null, limits: {} }, operator),
  );
  await expect.rejects('refusals', 'an account that is not there is changed', 'NotThere', () =>
    accounts.change('nobody', { plan: 'x' }, operator),
  );
  const changed = await accounts.change('acme', now => ({ display_name: `${now.id} Inc` }), operator);
  expect.same('records', 'a change takes more with it', { ...made, display_name: 'acme Inc' }, changed);
  const { disabled_ms } = await accounts.disable('acme', operator);
  expect.same('records', 'an account is not disabled', now_ms, disabled_ms);
  const { of, disabled } = await changes.since(before);
  const named = { accounts: of === 'all' ? ['acme'] : of.accounts, disabled };
  expect.same(
    'changes',
    'other instances hear of another account',
    { accounts: ['acme'], disabled: ['acme'] },
    named,
  );
  await accounts.enable('acme', operator);
  for (const id of ['beta', 'delta']) await accounts.create({ id, plan: null, limits: {} }, operator);
  const page = await accounts.list({ after: 'acme', limit: 1 });
  expect.same(
    'pages',
    'the page behind an account begins elsewhere',
    ['beta'],
    page.map(({ id }) => id),
  );
  expect.same('pages', 'accounts are counted otherwise', 3, await accounts.count());
};

const checkKeys: Check = async ({ keys, audit }, expect) => {
  const { key, record } = await keys.create(
    { account: 'acme', name: 'one', expires_ms: null, nonce: 'a' },
    operator,
  );
  expect.same('records', 'the text of a key is in its record', false, JSON.stringify(record).includes(key));
  await expect.rejects('refusals', 'a form makes two keys', 'KeyExists', () =>
    keys.create({ account: 'acme', name: 'two', expires_ms: null, nonce: 'a' }, operator),
  );
  await expect.rejects('refusals', 'an account has more keys than it may', 'TooManyKeys', () =>
    keys.create({ account: 'acme', name: 'two', expires_ms: null, max_usable: 1 }, operator),
  );
  const rotated = await keys.rotate(record.id, 1000, operator);
  expect.same('records', 'a rotated key lasts otherwise', now_ms + 1000, rotated.old.expires_ms);
  await keys.used(new Map([[record.id, now_ms + 5]]));
  await keys.used(new Map([[record.id, now_ms + 3]]));
  expect.same('records', 'the last use is set back', now_ms + 5, (await keys.find(record.id))?.last_used_ms);
  await keys.revoke(rotated.record.id, operator);
  await expect.rejects('refusals', 'a revoked key is changed', 'KeyEnded', () =>
    keys.change(rotated.record.id, { name: 'x' }, operator),
  );
  const [entry] = await audit.list({ target: rotated.record.id, limit: 1 });
  expect.same('records', 'the newest change of a key is another', 'key.revoke', entry?.action);
};

const rowOf = (more: Partial<LedgerRow>): LedgerRow => ({
  id: timeOrderedUuid(now_ms),
  request_id: 'req_check',
  account: 'acme',
  key_id: null,
  model: 'v/one',
  provider: 'local',
  endpoint: 'chat.completions',
  requested_model: null,
  error_message: null,
  error_param: null,
  stream: true,
  trace_id: null,
  started_ms: now_ms,
  duration_ms: 1200,
  first_token_ms: 200,
  status: 200,
  error_type: null,
  code: null,
  end_reason: 'completed',
  refused_by: null,
  attempts: 0,
  prompt_tokens: 10,
  completion_tokens: 5,
  cached_tokens: 2,
  cache_creation_tokens: 0,
  reasoning_tokens: 1,
  estimated: false,
  cost_usd: '0.000000000001',
  paid_usd: null,
  attempts_made: [],
  stages: [],
  ...more,
});

const checkLedger: Check = async ({ ledger, usage }, expect) => {
  const rows = [rowOf({}), rowOf({ model: 'v/two', cost_usd: '9000.000000000001', paid_usd: '9000.1' })];
  expect.same('ledger', 'new rows are counted otherwise', 2, await ledger.insert(rows));
  expect.same('ledger', 'rows that are sent again count again', 0, await ledger.insert(rows));
  const found = await ledger.find('req_check', 'acme');
  expect.same(
    'ledger',
    'rows are not found as they were written',
    new Set(rows.map(textOf)),
    new Set(found.map(textOf)),
  );
  const [newest] = await ledger.list({ limit: 1, model: 'v/two' });
  expect.same('ledger', 'a list has other rows', rows[1]!.id, newest?.id);
  const [sum] = await usage.sum({ by: ['account'] });
  const { requests, prompt_tokens, cost_usd, paid_requests, paid_usd, margin_usd } = sum ?? {};
  const added = { requests: 2, prompt_tokens: 20, cost_usd: '9000.000000000002' };
  expect.same('ledger', 'sums are not exact', added, { requests, prompt_tokens, cost_usd });
  const paid = { paid_requests: 1, paid_usd: '9000.1', margin_usd: '-0.099999999999' };
  expect.same('ledger', 'what is paid is summed otherwise', paid, { paid_requests, paid_usd, margin_usd });
  const budgets = await usage.budgets(['acme'], [Date.parse('2026-11-01'), Date.parse('2026-11-20')]);
  const all = budgets.find(({ model, since }) => model === '*' && since === 1);
  expect.same('ledger', 'the use of a day is another', [2, 30], [all?.requests, all?.tokens]);
};

const textOf = (row: LedgerRow): string => JSON.stringify(Object.entries(row).toSorted());

const checkPeople: Check = async ({ sessions, customers }, expect) => {
  const session = { digest: 'd1', actor: 'anna', role: 'viewer', account: '', proof: '', started_ms: now_ms };
  await sessions.start({ ...session, seen_ms: now_ms }, { started_ms: 0, seen_ms: 0 });
  for (const later of [5, 3]) await sessions.seen('d1', now_ms + later);
  expect.same(
    'people',
    'a session is another',
    { ...session, seen_ms: now_ms + 5 },
    await sessions.find('d1'),
  );
  await sessions.end({ digest: 'd1' });
  expect.same('people', 'an ended session is found', undefined, await sessions.find('d1'));
  const invitation = { name: 'Cora', account: 'acme', digest: 'i1', until_ms: now_ms + 1000 };
  await customers.invite(invitation, operator);
  await expect.rejects('refusals', 'the name of another customer is taken', 'NameTaken', () =>
    customers.invite({ ...invitation, name: 'CORA', account: 'beta', digest: 'i2' }, operator),
  );
  const accept = () => customers.accept('i1', 'hash', { at_ms: now_ms }, String);
  expect.same('people', 'an invitation is not accepted', 'Cora', (await accept())?.name);
  expect.same('people', 'an invitation is accepted twice', undefined, await accept());
};

const checkPruning: Check = async ({ pruning, ledger, usage }, expect) => {
  let pruned = 0;
  for (let step = await pruning.rows(now_ms + 1, 1); step !== 0; step = await pruning.rows(now_ms + 1, 1))
    pruned += step === 'taken' ? 0 : step;
  expect.same(
    'pruning',
    'old rows are deleted otherwise',
    [2, []],
    [pruned, await ledger.list({ limit: 5 })],
  );
  const [sum] = await usage.sum({ by: [] });
  expect.same('pruning', 'sums go with their rows', 2, sum?.requests);
};
