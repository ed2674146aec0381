import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { serve } from '../../src/cli/serve.ts';
import { DashboardVisitor } from '../support/dashboard-visitor.ts';
import { ask, upstreamKey } from '../support/gateway-under-test.ts';
import { completion } from '../support/hostile-setting.ts';
import { type RecordsPlace, recordsPlace, runCommand } from '../support/records-place.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from '../support/scripted-upstream.ts';
import { sidecarConfig } from '../support/sidecar-process.ts';

const prompt = 'a canary that sings in the prompt';
const answer = 'a canary that sings in the answer';
const password = 'the password of the canary';

let upstream: ScriptedUpstream;
let place: RecordsPlace;
/** What must be on no disk. */
let secrets: readonly string[];

beforeAll(async () => {
  upstream = await startScriptedUpstream(whole(200, completion(answer)));
  place = await recordsPlace();
  const config = sidecarConfig(upstream.url, {
    stores: place.stores,
    admin: { port: 0, users: { olga: { password } } },
  });
  await runCommand(config, 'accounts', 'create', 'acme');
  const { stdout } = await runCommand(config, 'keys', 'create', '--account', 'acme');
  const [key = ''] = /sk-sluice-\S+/.exec(stdout)!;
  const sidecar = await serve({ ...config, log: { level: 'silent' } });
  const statuses: number[] = [];
  // The second one is refused, so that its prompt might be in what is kept of refusals.
  for (const extra of [{}, { reasoning_effort: 'enormous' }]) {
    const reply = await fetch(`${sidecar.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(ask(prompt, extra)),
    });
    statuses.push(reply.status);
    await reply.text();
  }
  expect(statuses).toEqual([200, 400]);
  const visitor = new DashboardVisitor(`${sidecar.adminUrl}/dashboard/`);
  await visitor.signIn(password, 'olga');
  await sidecar.close();
  secrets = [prompt, answer, password, key, upstreamKey];
});
afterAll(async () => {
  await place?.remove();
  await upstream?.close();
});

describe('what a gateway stores', () => {
  it('has the account and the use of its key, and neither keys nor passwords nor prompts nor answers', async () => {
    const files = readdirSync(place.directory).map(name => readFileSync(join(place.directory, name)));
    const found = (text: string) => files.some(file => file.includes(text));
    expect([found('acme'), found('aion-labs/')]).toEqual([true, true]);
    expect(secrets.filter(found)).toEqual([]);
  });

  it('is readable for its owner only', () => {
    const modes = readdirSync(place.directory).map(
      name => statSync(join(place.directory, name)).mode & 0o077,
    );
    expect(modes.length).toBeGreaterThan(0);
    expect(modes.filter(mode => mode !== 0)).toEqual([]);
  });
});
