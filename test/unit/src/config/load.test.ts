import { dirname } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { loadConfig } from '../../../../src/config/load.ts';
import type { GatewayConfig } from '../../../../src/config/schema.ts';
import { mistakesOf, sampleConfig, temporaryFiles, withModel } from './sample-config.ts';

const file = temporaryFiles();

describe('a valid configuration', () => {
  it('gets the defaults', async () => {
    const { server, admin, stages, models, providers, accounts, warnings } = await loadConfig(sampleConfig());
    expect(server).toMatchObject({
      host: '127.0.0.1',
      port: 8080,
      max_body_bytes: 16_777_216,
      non_stream_timeout_ms: 120_000,
      stream_commit_ms: 10_000,
      keepalive_ms: 15_000,
      max_background_ms: 900_000,
    });
    expect(admin).toMatchObject({ host: '127.0.0.1', port: 8081, users: {} });
    expect(stages.map(({ name }) => name)).toEqual([
      'error-envelope',
      'auth',
      'validation',
      'rate-limit',
      'request-rewrite',
      'stream-rechunk',
      'reasoning-split',
    ]);
    expect(models[0]).toMatchObject({
      starts_in_reasoning: false,
      on_client_gone: 'complete',
      extra_parameters: [],
    });
    expect(providers[0]).toMatchObject({
      name: 'local',
      config: { idle_timeout_ms: 600_000, max_event_bytes: 1_048_576 },
    });
    expect([accounts, warnings]).toEqual([
      {},
      [
        'accounts: has no key, and records are in memory: every request is answered 401 until a key is issued in the dashboard',
      ],
    ]);
  });

  it('separates the options of the adapter from those of every provider', async () => {
    const local = {
      adapter: 'openai',
      base_url: 'http://a/v1',
      api_key: 'k',
      max_tokens_field: 'max_completion_tokens',
    };
    const { providers } = await loadConfig(sampleConfig({ providers: { local } }));
    expect(providers[0]!.options).toEqual({
      provider_name: 'openai',
      hosted_tools: [],
      max_tokens_field: 'max_completion_tokens',
      reasoning_field: 'reasoning_content',
    });
    expect(providers[0]!.config).not.toHaveProperty('max_tokens_field');
  });

  it('gives a model the extra parameters of its providers', async () => {
    const provider = (extra_parameters: string[]) => ({
      adapter: 'vllm',
      base_url: 'http://a/v1',
      extra_parameters,
    });
    const upstreams = ['a', 'b'].map(name => ({ provider: name, model: 'm' }));
    const providers = { a: provider(['top_k']), b: provider(['top_k', 'min_p']), c: provider(['other']) };
    const { models } = await loadConfig({ ...withModel({ upstreams }), providers } as GatewayConfig);
    expect(models[0]!.extra_parameters).toEqual(['top_k', 'min_p']);
  });

  it('is not modified', async () => {
    const given = sampleConfig({ accounts: { a: { keys: [{ value: '${A_KEY_OF_MINE}' }] } } });
    const before = structuredClone(given);
    await loadConfig(given, { A_KEY_OF_MINE: 'sk-12345678' });
    expect(given).toEqual(before);
  });

  it('needs no rate-limit while nothing is limited', async () => {
    const { stages } = await loadConfig(sampleConfig({ plans: { open: {} }, stages: ['auth'] }));
    expect(stages).toHaveLength(1);
  });

  it('may limit an account without a key, with a warning', async () => {
    const { warnings } = await loadConfig(
      sampleConfig({ accounts: { a: { limits: { requests_per_minute: 1 } }, b: {} } }),
    );
    expect(warnings).toContain('accounts.a: has a plan or limits but no keys, so it cannot be used');
  });

  it('sets where records are kept, with paths relative to its own file', async () => {
    const path = file('kept/records.yaml', '');
    const directory = dirname(path);
    const of = async (stores: object) => {
      file('kept/records.yaml', JSON.stringify(sampleConfig({ stores })));
      return (await loadConfig(path)).records;
    };
    expect((await of({})).place).toMatchObject({ name: 'memory', isMemory: true });
    expect(await of({ records: 'sqlite:./a/b.db' })).toMatchObject({
      place: { name: `sqlite:${directory}/a/b.db`, file: `${directory}/a/b.db` },
      queue_path: `${directory}/a/b.db-ledger-queue`,
      key_cache_ttl_ms: 600_000,
    });
    expect(await of({ records: 'postgres://u:p@h/d', ledger_queue: 'q' })).toMatchObject({
      place: { name: 'postgres://h/d', isShared: true },
      queue_path: `${directory}/q`,
    });
    expect((await of({ records: 'postgresql://h/d' })).queue_path).toBe(
      `${directory}/sluice-ledger-queue.db`,
    );
  });

  it('sets how long records are kept, at most two months in memory', async () => {
    const of = async (stores: object) =>
      (await loadConfig(sampleConfig({ stores } as never))).records.retention;
    const day_ms = 86_400_000;
    const sqlite = { records: 'sqlite:./a.db' };
    const never = Number.POSITIVE_INFINITY;
    expect(await of(sqlite)).toEqual({ rows_ms: never, sums_ms: never });
    expect(await of({ ...sqlite, retention: { rows: '12h', sums: '400d' } })).toEqual({
      rows_ms: day_ms / 2,
      sums_ms: 400 * day_ms,
    });
    expect(await of({ retention: { sums: 'never' } })).toEqual({ rows_ms: never, sums_ms: 62 * day_ms });
    expect((await of({ retention: { sums: '40d' } })).sums_ms).toBe(40 * day_ms);
  });

  it.each([
    [{ rows: '90' }, 'stores.retention.rows: must be never, or a time such as 90d or 12h'],
    [{ rows: '90 days' }, 'must be never, or a time such as 90d or 12h'],
    [{ rows: '0d' }, 'must be never, or a time such as 90d or 12h'],
    [{ sums: '31d' }, 'stores.retention.sums: must be at least 32d'],
    [{ row: '90d' }, 'row'],
  ])('cannot have the retention %j', async (retention, message) => {
    expect(await mistakesOf(sampleConfig({ stores: { retention } } as never))).toEqual([
      expect.stringContaining(message),
    ]);
  });
});

describe('an environment variable', () => {
  it('reaches the options of stages, even when another part is invalid', async () => {
    const stages = [{ validation: { unknown_parameters: '${POLICY}' } }];
    const server = { open: true };
    const { stages: plans } = await loadConfig(sampleConfig({ server, stages }), { POLICY: 'reject' });
    expect(plans.map(({ name }) => name)).toEqual(['validation']);
    expect(await mistakesOf(sampleConfig({ stages, models: [] }), { POLICY: 'reject' })).toEqual([
      'models: must list at least one model',
    ]);
  });
});
