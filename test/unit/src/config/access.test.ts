import { describe, expect, it } from '@jest/globals';
import { loadConfig } from '../../../../src/config/load.ts';
import { mistakesOf, sampleConfig, temporaryFiles, withModel } from './sample-config.ts';

const file = temporaryFiles();
const accounts = { demo: { keys: [{ value: 'sk-demo-0123456789' }] } };
const everybody =
  'stages: must list auth: without it every request is served, without a key. If that is meant, write server: { open: true }; a stage of your own that replaces auth says authenticates: true in defineStage';

const warningsOf = async (changes: object) => (await loadConfig(sampleConfig(changes), {})).warnings;

describe('the check of a gateway without authentication', () => {
  it.each([
    ['with accounts', { accounts, stages: ['validation'] }],
    ['with keys in a records store', { stores: { records: 'sqlite:./a.db' }, stages: ['validation'] }],
    ['without accounts', { stages: ['validation'] }],
    ['without stages', { stages: [] }],
  ])('rejects the configuration unless server.open is set: %s', async (_, changes) => {
    expect(await mistakesOf(sampleConfig(changes))).toEqual([everybody]);
    const { stages } = await loadConfig(sampleConfig({ ...changes, server: { open: true } }));
    expect(stages).toHaveLength(changes.stages.length);
  });

  it('rejects server.open beside the stage auth', async () => {
    const refused = ['server.open: has no effect: the stage auth refuses requests without a key'];
    expect(await mistakesOf(sampleConfig({ accounts, server: { open: true } }))).toEqual(refused);
    expect(await mistakesOf(sampleConfig({ server: { open: true }, stages: ['auth'] }))).toEqual(refused);
  });

  it('warns that no stage finds the account of a key', async () => {
    const server = { open: true };
    expect(
      await warningsOf({ accounts, server, stages: ['validation'], metrics: { account_label: true } }),
    ).toEqual([
      'accounts: has no effect: server.open is set, and no stage finds the account of a key',
      'metrics.account_label: has no effect: server.open is set, and no stage finds an account',
    ]);
  });
});

describe('the check of limits', () => {
  it('rejects rate-limit before auth, also with accounts in a records store', async () => {
    expect(
      await mistakesOf(
        sampleConfig({ stores: { records: 'postgres://h/d' }, stages: ['rate-limit', 'auth'] }),
      ),
    ).toEqual(['stages[0]: must come after auth, which finds the account that is limited']);
  });

  it('warns that limits of accounts in a records store are not enforced without rate-limit', async () => {
    expect(await warningsOf({ stores: { records: 'sqlite:./a.db' }, stages: ['auth'] })).toEqual([
      'stages: does not list rate-limit: limits of accounts in the records store are not enforced',
    ]);
  });
});

describe('the check of API keys', () => {
  it('rejects keys of a stage that would hide those of the configuration', async () => {
    const stages = ['error-envelope', { auth: { accounts } }];
    expect(await mistakesOf(sampleConfig({ accounts, stages }))).toEqual([
      'stages[1].auth.accounts: belongs to accounts, at the top level',
    ]);
  });

  it('warns when there are none', async () => {
    const nobody =
      'accounts: has no key, and records are in memory: every request is answered 401 until a key is issued in the dashboard';
    expect(await warningsOf({})).toEqual([nobody]);
    expect(await warningsOf({ accounts: { demo: {} } })).toEqual([nobody]);
    expect(await warningsOf({ stores: { records: 'sqlite:./a.db' } })).toEqual([]);
    expect(await warningsOf({ accounts })).toEqual([]);
  });
});

describe('the check for options without effect', () => {
  const local = { adapter: 'vllm', base_url: 'http://127.0.0.1:8000/v1' };

  it.each<[object, string]>([
    [{ stores: { key_cache_ttl_ms: 1 } }, 'stores.key_cache_ttl_ms: has no effect: records are in memory'],
    [{ stores: { ledger_queue: './q' } }, 'stores.ledger_queue: has no effect: records are in memory'],
    [{ stores: { ledger_queue_rows: 5 } }, 'stores.ledger_queue_rows: has no effect: records are in memory'],
    [{ stores: { state_timeout_ms: 20 } }, 'stores.state_timeout_ms: has no effect: state is kept in memory'],
    [{ admin: { session_idle_ms: 5 } }, 'admin.session_idle_ms: has no effect: admin.users is empty'],
    [
      {
        admin: { users: { ann: { password: 'twelve letters' } }, session_idle_ms: 9, session_max_ms: 5 },
      },
      'admin.session_idle_ms: has no effect: session_max_ms is over before',
    ],
    [
      { tracing: { max_content_characters: 5 } },
      'tracing.max_content_characters: has no effect: capture_content is false',
    ],
    [
      { server: { max_background: 0, max_background_ms: 5 } },
      'server.max_background_ms: has no effect: max_background is 0',
    ],
    [{ plans: { free: {} } }, 'plans.free: has no effect: no account has this plan'],
    [
      { responses: { reasoning_placement_by_account: { other: 'summary' } } },
      'responses.reasoning_placement_by_account.other: has no effect: there is no such account',
    ],
    [
      { stages: ['auth', { 'rate-limit': { dry_run: true } }] },
      'stages.rate-limit.dry_run: has no effect: no account has limits',
    ],
    [
      { providers: { local, spare: local } },
      'providers.spare: has no effect: no model and no path of passthrough uses it',
    ],
    [{ routing: { sticky: 'conversation' } }, 'routing.sticky: has no effect: every model has one upstream'],
    [
      { routing: { retry_ratio: 1 } },
      'routing.retry_ratio: has no effect: every model has one upstream, and retries_per_upstream is 0',
    ],
    [
      withModel({ pricing: { prompt: '3', completion: '0.001', input_cache_read: '0.00000075' } }),
      'models[0].pricing.prompt: "3" is $3 for one token; "3" per million tokens is written "0.000003"',
    ],
  ])('warns: %j', async (changes, warning) => {
    expect(await warningsOf({ accounts, ...changes })).toEqual([warning]);
  });

  it('accepts an option that another option uses', async () => {
    const providers = { local: { ...local, api_keys: ['a', 'b'] } };
    expect(await warningsOf({ accounts, providers, routing: { retry_ratio: 1 } })).toEqual([]);
    const ofFile = { local: { ...local, api_key_file: file('keys', 'one\ntwo\n') } };
    expect(await warningsOf({ accounts, providers: ofFile, routing: { retry_ratio: 1 } })).toEqual([]);
    const routing = { retries_per_upstream: 1, backoff_ms: 5 };
    expect(await warningsOf({ accounts, routing })).toEqual([]);
    const passthrough = [{ path: '/v1/rerank', provider: 'spare' }];
    expect(await warningsOf({ accounts, providers: { local, spare: local }, passthrough })).toEqual([]);
    const users = { ann: { password: 'twelve letters' } };
    expect(await warningsOf({ accounts, plans: { free: {} }, admin: { users, session_idle_ms: 5 } })).toEqual(
      [],
    );
  });

  it('rejects an option that names an unknown model or plan', async () => {
    const classes = [{ when: { model: 'aion-labs/aion-35', plan: ['free', 'fre'] } }];
    const stages = ['auth', { 'stream-rechunk': { classes } }];
    const plans = { free: {} };
    expect(await mistakesOf(sampleConfig({ accounts, plans, stages }))).toEqual([
      "stages[1].stream-rechunk.classes[0].when.model: there is no model 'aion-labs/aion-35'; did you mean 'aion-labs/aion-3.5'? There are: aion-labs/aion-3.5",
      "stages[1].stream-rechunk.classes[0].when.plan: there is no plan 'fre'; did you mean 'free'? There are: free",
    ]);
  });

  it('rejects a list of model-access that names an unknown model or plan', async () => {
    const lists = { plans: { fre: ['*'] }, accounts: { ann: ['aion-labs/aion-35'] }, others: ['nothing'] };
    const plans = { free: {} };
    expect(
      await mistakesOf(sampleConfig({ accounts, plans, stages: ['auth', { 'model-access': lists }] })),
    ).toEqual([
      "stages[1].model-access.plans.fre: there is no plan 'fre'; did you mean 'free'? There are: free",
      "stages[1].model-access.others[0]: there is no model 'nothing'; there are: aion-labs/aion-3.5",
      "stages[1].model-access.accounts.ann[0]: there is no model 'aion-labs/aion-35'; did you mean 'aion-labs/aion-3.5'? There are: aion-labs/aion-3.5",
    ]);
  });
});
