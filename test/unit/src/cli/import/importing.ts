import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { parse } from 'yaml';
import type { GatewayConfig } from '../../../../../src/config/schema.ts';
import { runHere } from '../../../../support/command-here.ts';
import type { ImportedSample } from './imported-samples.ts';

/** Of the files of this test. */
export const directory = mkdtempSync(join(tmpdir(), 'sluice-import-'));

/** Values of the variables of all samples. */
const environment = {
  ...Object.fromEntries(
    'OPENAI_API_KEY ANTHROPIC_API_KEY GEMINI_API_KEY MISTRAL_API_KEY OPENROUTER_API_KEY TOGETHER_API_KEY GROQ_API_KEY AZURE_API_KEY AZURE_OPENAI_API_KEY AWS_BEARER_TOKEN_BEDROCK LITELLM_MASTER_KEY REDIS_PASSWORD OPENAI_ORG_ID COHERE_A1B2C3 OPEN_AI_VIRTUAL_D4E5F6 GOOGLE_PROD AZURE_EU'
      .split(' ')
      .map(name => [name, `sk-${name.toLowerCase()}`]),
  ),
  AWS_REGION: 'eu-central-1',
  AZURE_OPENAI_API_BASE: 'https://resource.openai.azure.com',
  AZURE_API_BASE: 'https://resource.openai.azure.com',
  LMSTUDIO_URL: 'http://127.0.0.1:1234/v1',
  REDIS_HOST: 'redis.example.com',
  REDIS_PORT: '6379',
};

/** Imports a file, checks what was written as an operator would, and returns both parts. */
export async function imported(gateway: 'litellm' | 'portkey', file: string, ...options: readonly string[]) {
  const output = join(directory, 'sluice.yaml');
  const told = await runHere(['import', gateway, file, '--output', output, '--force', ...options]);
  expect(told).toMatchObject({ code: 0, stdout: '' });
  const checked = await runHere(['check', '--config', output], environment);
  expect(checked).toMatchObject({ code: 0, stderr: '' });
  const text = readFileSync(output, 'utf8');
  return { config: parse(text) as GatewayConfig, text, report: told.stderr };
}

/** The same for the text of LiteLLM's configuration. */
export function importedText(text: string, ...options: readonly string[]) {
  const file = join(directory, 'config.yaml');
  writeFileSync(file, text);
  return imported('litellm', file, ...options);
}

const rates = ({ requests_per_minute = '-', tokens_per_minute = '-' }: Record<string, unknown>) =>
  ` [${requests_per_minute} rpm, ${tokens_per_minute} tpm]`;

/** Models with their upstreams and fallbacks, as in `ImportedSample`. */
export const servedBy = ({ models }: GatewayConfig) =>
  Object.fromEntries(
    models.map(({ id, upstreams, fallbacks = {} }) => {
      const served = upstreams.map(
        ({ provider, model, priority = 1, weight = 1, limits }) =>
          `${provider} ${model} ${priority} ${weight}${limits ? rates(limits) : ''}`,
      );
      const others = Object.entries(fallbacks).map(([reason, ids]) => ` | ${reason}: ${ids?.join(' ')}`);
      return [id, served.join(', ') + others.join('')];
    }),
  );

/** The places of a section of the report. */
export const placesIn = (report: string, section: 'Without' | 'Came') =>
  (report.split('\n\n').find(part => part.startsWith(section)) ?? '')
    .split('\n')
    .slice(1)
    .map(line => line.trim().replace(/ \(line.*|: .*/, ''));

/** Imports a sample and compares all that came over, and all that did not, with what is expected. */
export async function expectImported(
  gateway: 'litellm' | 'portkey',
  file: string,
  expected: ImportedSample,
): Promise<void> {
  const options = expected.models === undefined ? [] : ['--models', expected.models];
  const { config, report } = await imported(gateway, file, ...options);
  const adapters = Object.entries(config.providers).map(([provider, { adapter }]) => [provider, adapter]);
  expect(Object.fromEntries(adapters)).toEqual(expected.adapters);
  expect(servedBy(config)).toEqual(expected.served);
  expect(placesIn(report, 'Without')).toEqual(expected.lost);
}
