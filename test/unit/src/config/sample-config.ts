import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll } from '@jest/globals';
import { ConfigError, shownIssue } from '../../../../src/common/config-error.ts';
import { defaultModels } from '../../../../src/config/example-models.ts';
import { loadConfig } from '../../../../src/config/load.ts';
import type { GatewayConfig } from '../../../../src/config/schema.ts';

/** A configuration without mistakes, with `changes`. */
export function sampleConfig(changes: object = {}): GatewayConfig {
  return {
    providers: { local: { adapter: 'vllm', base_url: 'http://127.0.0.1:8000/v1' } },
    models: defaultModels('local').slice(0, 1),
    ...changes,
  } as GatewayConfig;
}

/** The same with `changes` to its one model. */
export function withModel(changes: object): GatewayConfig {
  return sampleConfig({ models: [{ ...sampleConfig().models[0], ...changes }] });
}

/** A model in YAML, below its `- id:`, without mistakes. */
export const modelInYaml = `
    name: Small
    date: 2026-09-23
    context_length: 1000
    max_completion_tokens: 100
    pricing: { prompt: "0.1", completion: "0.2" }
    reasoning: false
    tool_calls: false
    reasoning_effort: { supported: false, levels: [], default: null }
    upstreams: [{ provider: local, model: small }]
`;

/** The mistakes of a configuration, as they are shown. */
export async function mistakesOf(source: GatewayConfig | string, environment = {}): Promise<string[]> {
  const error: unknown = await loadConfig(source, environment).catch(thrown => thrown);
  if (!(error instanceof ConfigError)) throw new Error('no mistake was found', { cause: error });
  return error.issues.map(shownIssue);
}

/** A directory for the files of one test file, removed after it. Gives the function that writes there and returns the path. */
export function temporaryFiles(): (name: string, text: string) => string {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-config-'));
  afterAll(() => rmSync(directory, { recursive: true }));
  return (name, text) => {
    const path = join(directory, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  };
}
