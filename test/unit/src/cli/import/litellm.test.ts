import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import type { GatewayConfig } from '../../../../../src/config/schema.ts';
import { hashKey } from '../../../../../src/records/key-secret.ts';
import { runHere } from '../../../../support/command-here.ts';
import { liteLlmSamples } from './imported-samples.ts';

const directory = mkdtempSync(join(tmpdir(), 'sluice-import-'));
afterAll(() => rmSync(directory, { recursive: true }));

/** Values of the variables of all samples. */
const environment = {
  ...Object.fromEntries(
    'OPENAI_API_KEY ANTHROPIC_API_KEY GEMINI_API_KEY MISTRAL_API_KEY OPENROUTER_API_KEY TOGETHER_API_KEY GROQ_API_KEY AZURE_API_KEY AZURE_OPENAI_API_KEY AWS_BEARER_TOKEN_BEDROCK LITELLM_MASTER_KEY REDIS_PASSWORD OPENAI_ORG_ID'
      .split(' ')
      .map(name => [name, `sk-${name.toLowerCase()}`]),
  ),
  AWS_REGION: 'eu-central-1',
  AZURE_OPENAI_API_BASE: 'https://resource.openai.azure.com',
  LMSTUDIO_URL: 'http://127.0.0.1:1234/v1',
  REDIS_HOST: 'redis.example.com',
  REDIS_PORT: '6379',
};

/** Imports a file, checks what was written as an operator would, and returns both parts. */
async function imported(file: string, ...options: readonly string[]) {
  const output = join(directory, 'sluice.yaml');
  const told = await runHere(['import', 'litellm', file, '--output', output, '--force', ...options]);
  expect(told).toMatchObject({ code: 0, stdout: '' });
  const checked = await runHere(['check', '--config', output], environment);
  expect(checked).toMatchObject({ code: 0, stderr: '' });
  const text = readFileSync(output, 'utf8');
  return { config: parse(text) as GatewayConfig, text, report: told.stderr };
}

/** The same for a text. */
function importedText(text: string, ...options: readonly string[]) {
  const file = join(directory, 'config.yaml');
  writeFileSync(file, text);
  return imported(file, ...options);
}

/** Models with their upstreams: `id: provider/model@priority*weight`. */
const servedBy = ({ models }: GatewayConfig) =>
  Object.fromEntries(
    models.map(({ id, upstreams }) => [
      id,
      upstreams
        .map(({ provider, model, priority = 1, weight = 1 }) => `${provider} ${model} ${priority} ${weight}`)
        .join(', '),
    ]),
  );

/** The places of a section of the report. */
const placesIn = (report: string, section: 'Without' | 'Came') =>
  (report.split('\n\n').find(part => part.startsWith(section)) ?? '')
    .split('\n')
    .slice(1)
    .map(line => line.trim().replace(/ \(line.*|: .*/, ''));

const samples = 'test/fixtures/import/litellm';

describe('sluice import litellm', () => {
  it.each(Object.entries(liteLlmSamples))(
    'brings over what has a counterpart, and lists the rest: %s',
    async (name, expected) => {
      const options = expected.models === undefined ? [] : ['--models', expected.models];
      const { config, report } = await imported(join(samples, `${name}.yaml`), ...options);
      const adapters = Object.entries(config.providers).map(([provider, { adapter }]) => [provider, adapter]);
      expect(Object.fromEntries(adapters)).toEqual(expected.adapters);
      expect(servedBy(config)).toEqual(expected.served);
      expect(placesIn(report, 'Without')).toEqual(expected.lost);
    },
  );

  it('takes rates, times, prices and fallbacks in the units of this configuration', async () => {
    const { config, text } = await importedText(`
model_list:
  - model_name: big
    litellm_params: { model: hosted_vllm/org/big, api_base: "http://gpu:8000/v1/", order: 1, weight: 3, timeout: 30, stream_timeout: 2.5, max_parallel_requests: 8 }
    model_info: { input_cost_per_token: 1.5e-7, output_cost_per_token: 0.0000006, max_input_tokens: 32000, max_output_tokens: 4000, supports_vision: true }
  - model_name: big
    litellm_params: { model: hosted_vllm/org/big, api_base: "http://gpu2:8000/v1", order: 2 }
  - model_name: small
    litellm_params: { model: hosted_vllm/org/small, api_base: "http://gpu2:8000/v1" }
router_settings: { num_retries: 3, allowed_fails: 1, cooldown_time: 15, timeout: 90, model_group_alias: { gpt-4: big }, fallbacks: [{ big: [small] }] }
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
      routing: { max_attempts: 5 },
    });
    expect(servedBy(config)['hosted-vllm/big']).toBe(
      'hosted-vllm org/big 1 1, hosted-vllm-2 org/big 2 1, hosted-vllm-2 org/small 3 1',
    );
    expect(config).toMatchObject({
      routing: { max_attempts: 4, retries_per_upstream: 3 },
      aliases: { big: 'hosted-vllm/big', 'gpt-4': 'hosted-vllm/big' },
      accounts: { master: { keys: [{ sha256: hashKey('sk-1234') }] } },
    });
    expect(text).toContain('# not known: nothing is charged until these are set');
    expect(text).not.toContain('sk-1234');
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
