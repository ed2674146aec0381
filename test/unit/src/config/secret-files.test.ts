import { dirname } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { loadConfig } from '../../../../src/config/load.ts';
import { loadCommandSettings } from '../../../../src/config/load-commands.ts';
import { loadProvider } from '../../../../src/config/load-provider.ts';
import { mistakesOf, modelInYaml, sampleConfig, temporaryFiles } from './sample-config.ts';

const file = temporaryFiles();

/** A configuration with a line for its provider, and further sections. */
const yamlWith = (provider: string, more = '') => `
providers:
  local:
    adapter: vllm
    base_url: http://127.0.0.1:8000/v1
    ${provider}
models:
  - id: example/small
${modelInYaml}
${more}`;

describe('a secret in a file', () => {
  it('is read from the folder of the configuration, at the start and by every command', async () => {
    file('secrets/key', 'sk-from-a-file\n');
    file('secrets/records', 'sqlite:./kept.db\n');
    const path = file(
      'sluice.yaml',
      yamlWith('api_key: "${file:secrets/key}"', 'stores: { records: "${file:secrets/records}" }'),
    );
    const { providers, records } = await loadConfig(path, {});
    expect(providers[0]!.config.api_key).toBe('sk-from-a-file');
    expect(JSON.stringify(records)).toContain('kept.db');
    expect((await loadProvider(path, 'local', {})).config.api_key).toBe('sk-from-a-file');
    expect((await loadCommandSettings(path, {})).place.name).toMatch(/^sqlite:/);
  });

  it('is reported with its place when it is missing, and not needed by commands of the store', async () => {
    const path = file('missing.yaml', yamlWith('api_key: "${file:secrets/none}"'));
    expect(await mistakesOf(path)).toEqual([
      `providers.local.api_key (line 6): the file ${dirname(path)}/secrets/none does not exist`,
    ]);
    expect((await loadCommandSettings(path, {})).models).toEqual([{ id: 'example/small' }]);
  });

  it('that no header can carry is a mistake of the configuration, not of every request', async () => {
    const path = file(
      'unsent.yaml',
      yamlWith(
        `api_key: "\${file:${file('two-breaks', 'sk-canary\n\n')}}"\n    headers: { x-own: "\${file:${file('nul', 'canary\0')}}" }`,
      ),
    );
    const mistake = 'has characters that no header can carry, such as a line break';
    expect(await mistakesOf(path)).toEqual([
      `providers.local.api_key (line 6): ${mistake}`,
      `providers.local.headers.x-own (line 7): ${mistake}`,
    ]);
  });

  it.each<[string, string, (secret: string) => object]>([
    ['as a number', 'sk-very-secret-0123', secret => ({ server: { port: secret } })],
    ['as a number, short', '7x', secret => ({ server: { port: secret } })],
    ['as one of several words', 'vlllm-secret', secret => ({ log: { level: secret } })],
    ['in an address', 'sk-very-secret-0123', secret => ({ server: { public_url: `x ${secret}` } })],
    [
      'in options of a stage',
      'rejectt',
      secret => ({ stages: ['auth', { validation: { unknown_parameters: secret } }] }),
    ],
    ['as a stage', 'auth-secret', secret => ({ stages: ['auth', secret] })],
  ])('is in no message when it is wrong where it was put: %s', async (_, content, changes) => {
    const mistakes = await mistakesOf(sampleConfig(changes(`\${file:${file('wrong', content)}}`)));
    expect(mistakes).toHaveLength(1);
    expect(mistakes[0]).not.toContain(content);
  });
});
