import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { hashKey } from '../../../../../src/records/key-secret.ts';
import { runHere } from '../../../../support/command-here.ts';
import { liteLlmSamples } from './imported-samples.ts';
import { directory, expectImported, importedText, servedBy } from './importing.ts';

afterAll(() => rmSync(directory, { recursive: true }));

const samples = 'test/fixtures/import/litellm';

describe('sluice import litellm', () => {
  it.each(Object.entries(liteLlmSamples))(
    'brings over what has a counterpart, and lists the rest: %s',
    async (name, expected) => {
      await expectImported('litellm', join(samples, `${name}.yaml`), expected);
    },
  );

  it('takes rates, times, prices and fallbacks in the units of this configuration', async () => {
    const { config, text } = await importedText(`
model_list:
  - model_name: big
    litellm_params: { model: hosted_vllm/org/big, api_base: "http://gpu:8000/v1/", order: 1, weight: 3, timeout: 30, stream_timeout: 2.5, max_parallel_requests: 8, temperature: 0.2, stop: END, max_completion_tokens: 9000 }
    model_info: { input_cost_per_token: 1.5e-7, output_cost_per_token: 0.0000006, max_input_tokens: 32000, max_output_tokens: 4000, supports_vision: true }
  - model_name: big
    litellm_params: { model: hosted_vllm/org/big, api_base: "http://gpu2:8000/v1", order: 2 }
  - model_name: small
    litellm_params: { model: hosted_vllm/org/small, api_base: "http://gpu2:8000/v1" }
  - model_name: huge
    litellm_params: { model: hosted_vllm/org/huge, api_base: "http://gpu2:8000/v1" }
router_settings: { num_retries: 3, allowed_fails: 1, cooldown_time: 15, timeout: 90, model_group_alias: { gpt-4: big }, fallbacks: [{ big: [small] }], context_window_fallbacks: [{ big: [huge, big] }] }
general_settings: { master_key: sk-1234 }
`);
    expect(config.providers).toMatchObject({
      'hosted-vllm': {
        base_url: 'http://gpu:8000/v1',
        idle_timeout_ms: 30_000,
        first_token_timeout_ms: 2500,
        max_concurrent: 8,
        breaker: { consecutive_failures: 2, open_ms: 15_000, max_open_ms: 60_000 },
      },
      'hosted-vllm-2': { idle_timeout_ms: 90_000 },
    });
    expect(config.models[0]).toMatchObject({
      context_length: 32_000,
      max_completion_tokens: 4000,
      pricing: { prompt: '0.00000015', completion: '0.0000006' },
      architecture: { modality: 'text+image->text' },
      defaults: { temperature: 0.2, stop: ['END'], max_tokens: 4000 },
    });
    expect(servedBy(config)['hosted-vllm/big']).toBe(
      'hosted-vllm org/big 1 1, hosted-vllm-2 org/big 2 1 | unavailable: hosted-vllm/small | context_length: hosted-vllm/huge | content_filter: hosted-vllm/small',
    );
    expect(config).toMatchObject({
      routing: { max_attempts: 4, retries_per_upstream: 3 },
      aliases: { big: 'hosted-vllm/big', 'gpt-4': 'hosted-vllm/big' },
      accounts: { master: { keys: [{ sha256: hashKey('sk-1234') }] } },
    });
    expect(text).toContain('# not known: nothing is charged until these are set');
    expect(text).not.toContain('sk-1234');
  });

  it('takes prices, bounds and abilities from the list of LiteLLM where the file does not say them', async () => {
    const prices = join(directory, 'prices.json');
    const listed = {
      max_input_tokens: 200_000,
      max_output_tokens: 64_000,
      input_cost_per_token: 3e-6,
      output_cost_per_token: 1.5e-5,
      cache_read_input_token_cost: 3e-7,
      supports_reasoning: true,
      supports_vision: true,
    };
    writeFileSync(
      prices,
      JSON.stringify({ 'claude-sonnet-4-5': listed, 'azure/gpt-5': { max_input_tokens: 272_000 } }),
    );
    const text = `
model_list:
  - { model_name: sonnet, litellm_params: { model: anthropic/claude-sonnet-4-5 }, model_info: { output_cost_per_token: 2e-5 } }
  - { model_name: five, litellm_params: { model: azure/my-five }, model_info: { base_model: gpt-5 } }
`;
    const { config } = await importedText(text, '--prices', prices);
    expect(config.models).toMatchObject([
      {
        context_length: 200_000,
        max_completion_tokens: 64_000,
        pricing: { prompt: '0.000003', completion: '0.00002', input_cache_read: '0.0000003' },
        reasoning: true,
        // Claude goes on answering without reasoning, unless a client asks for it.
        reasoning_effort: { supported: true, default: 'none' },
      },
      { context_length: 272_000 },
    ]);
  });

  it('brings keys over by their SHA-256, in the accounts of their teams, with limits, ends, models and other names', async () => {
    const text = `
model_list:
  - { model_name: gpt-4o, litellm_params: { model: openai/gpt-4o } }
  - { model_name: gpt-4o-mini, litellm_params: { model: openai/gpt-4o-mini }, model_info: { access_groups: [cheap-models] } }
`;
    const { config, report } = await importedText(text, '--keys', 'test/fixtures/import/litellm-keys.json');
    const both = ['openai/gpt-4o', 'openai/gpt-4o-mini'];
    const key = (secret: string) => ({ sha256: hashKey(secret), name: `key-${hashKey(secret).slice(0, 8)}` });
    expect(config.accounts).toEqual({
      research: {
        limits: { requests_per_minute: 600, usd_per_month: 100 },
        models: ['openai/gpt-4o-mini'],
        keys: [
          {
            sha256: hashKey('sk-crawler-1111'),
            name: 'crawler',
            limits: {
              requests_per_minute: 60,
              tokens_per_minute: 20_000,
              concurrent_requests: 4,
              usd_per_month: 25.5,
            },
            models: both,
          },
          { ...key('sk-olga-2222'), expires: '2999-01-01T00:00:00.000Z', limits: { usd_per_day: 3 } },
        ],
        aliases: { 'mistral-7b': 'openai/gpt-4o-mini' },
      },
      'olga@example.com': {
        limits: { usd_per_month: 10 },
        keys: [{ ...key('sk-olga-3333'), models: both }],
      },
      't-unknown': { keys: [key('sk-lone-6666')] },
      credit: { keys: [{ sha256: hashKey('sk-credit-7777'), name: 'credit', limits: { usd_total: 1.5 } }] },
    });
    for (const place of ['keys[3].expires', 'keys[4].blocked', 'keys[2].models'])
      expect(report).toContain(`  ${place} (line `);
  });

  it('writes over no file without being told to, and nothing at all then', async () => {
    const output = join(directory, 'kept.yaml');
    writeFileSync(output, 'kept');
    const file = join(samples, 'farm-of-ollamas.yaml');
    const { code, stdout, stderr } = await runHere(['import', 'litellm', file, '-o', output]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('--force');
    expect(readFileSync(output, 'utf8')).toBe('kept');
  });
});
