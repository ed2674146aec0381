import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config/load.ts';
import { runHere } from '../support/command-here.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from '../support/scripted-upstream.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-models-'));
const file = join(folder, 'sluice.yaml');
const upstreams: ScriptedUpstream[] = [];

afterEach(() => Promise.all(upstreams.splice(0).map(upstream => upstream.close())));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs the command against a provider that answers `reply`. */
async function models(reply: Buffer, name = 'local') {
  const upstream = await startScriptedUpstream(reply);
  upstreams.push(upstream);
  const provider = `{ adapter: vllm, base_url: "${upstream.url}", api_key: "sk-secret-0123456789" }`;
  writeFileSync(file, `providers:\n  local: ${provider}\n`);
  const { stdout, stderr } = await runHere(['models', '--config', file, '--provider', name]);
  return { out: stdout, error: stderr, upstream };
}

describe('sluice models', () => {
  it('prints a catalog that works in a configuration unchanged', async () => {
    const data = [
      { id: 'Qwen/Qwen3-8B', max_model_len: 40960 },
      { id: 'plain', max_model_len: 2048 },
    ];
    const { out, upstream } = await models(whole(200, { object: 'list', data }));
    expect(upstream.requests[0]).toMatchObject({
      method: 'GET',
      path: '/v1/models',
      headers: { authorization: 'Bearer sk-secret-0123456789' },
    });
    const { models: catalog } = parse(out);
    const settings = await loadConfig({
      providers: { local: { adapter: 'vllm', base_url: 'http://127.0.0.1:1/v1' } },
      models: catalog,
    });
    expect(
      settings.models.map(({ id, context_length, reasoning }) => [id, context_length, reasoning]),
    ).toEqual([
      ['Qwen/Qwen3-8B', 40960, true],
      ['local/plain', 2048, false],
    ]);
    expect(out).toContain('# by its name; in vLLM and SGLang its reasoning parser is qwen3');
  });

  it.each([
    ['another provider', whole(200, {}), 'remote', /there is no provider 'remote'; there are: local/],
    [
      'an error',
      whole(401, 'no sk-secret-0123456789'),
      'local',
      /models: local \(http.*\): answered 401: no \[secret\]/,
    ],
    ['a page', whole(200, '<html>'), 'local', /answered with something that is not JSON: <html>/],
    ['no models', whole(200, { data: [] }), 'local', /the server lists no models/],
  ])('reports what is wrong with %s', async (_, reply, name, expected) => {
    const { out, error } = await models(reply, name);
    expect([out, error]).toEqual(['', expect.stringMatching(expected)]);
  });
});
