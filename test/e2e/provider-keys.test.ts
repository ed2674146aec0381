import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { capturedLog } from '../support/captured-log.ts';
import { closeHealthy, completion, expectRefusal, hostileSetting } from '../support/hostile-setting.ts';
import { type Script, whole } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-keys-'));
const keys = ['sk-first-0123456789', 'sk-second-0123456789', 'sk-third-0123456789'];

afterEach(closeHealthy);
afterAll(() => rmSync(folder, { recursive: true }));

/** undici frees a connection one turn after the reply, so that an attempt which follows at once opens a second one. */
const withKeys = (api_keys: readonly string[], connections = 2) =>
  hostileSetting({ provider: { api_key: undefined, api_keys } }, connections);

/** Answers as the key deserves. */
const byKey =
  (statuses: Readonly<Record<string, number>>, headers = {}): Script =>
  (socket, { headers: { authorization = '' } }) => {
    const key = authorization.slice('Bearer '.length);
    const status = statuses[key] ?? 200;
    const error = { error: { message: `no quota for ${key}`, type: 'x' } };
    socket.write(status === 200 ? whole(200, completion('Hello.')) : whole(status, error, headers));
  };

const keyOf = ({ headers }: { headers: Readonly<Record<string, string>> }) => headers.authorization?.slice(7);

describe('several keys of one provider', () => {
  it('replace each other when one is declined or has used its quota up', async () => {
    const { send, upstream, gateway } = await withKeys(keys);
    upstream.reply(byKey({ [keys[0]!]: 401, [keys[1]!]: 429 }));
    const first = await send(false);
    expect([first.status, upstream.requests.map(keyOf)]).toEqual([200, keys]);
    await first.text();
    await (await send(false)).text();
    expect(upstream.requests.slice(3).map(keyOf)).toEqual([keys[2]]);
    expect(await gateway.metric('sluice_requests_total', { status: '200' })).toBe(2);
  });

  it('are each tried once when all are declined, and never shown', async () => {
    const { send, upstream, gateway } = await withKeys(keys);
    upstream.reply(byKey(Object.fromEntries(keys.map(key => [key, 429])), { 'retry-after': '7' }));
    const response = await send(true);
    expect(response.headers.get('retry-after')).toBe('7');
    const message = await expectRefusal(response, 502, 'provider_error');
    expect(upstream.requests.map(keyOf)).toEqual(keys);
    for (const key of keys) expect(message + (await gateway.metrics())).not.toContain(key);
  });
});

describe('keys in a file', () => {
  it('are reloaded when the file changes and kept when it becomes invalid', async () => {
    const file = join(folder, 'keys');
    writeFileSync(file, '# first\nsk-file-one-0123456789\n\n');
    const { log, lines } = capturedLog();
    const { send, upstream } = await hostileSetting({
      provider: { api_key: undefined, api_key_file: file },
      options: { log },
    });
    upstream.reply(whole(200, completion('Hello.')));
    const used = async () => {
      await (await send(false)).text();
      return keyOf(upstream.requests.at(-1)!);
    };
    expect(await used()).toBe('sk-file-one-0123456789');
    writeFileSync(file, 'sk-file-two-0123456789\n');
    await until(async () => (await used()) === 'sk-file-two-0123456789');
    writeFileSync(file, '# nothing\n');
    await until(() => lines.some(({ msg }) => msg.startsWith('failed to read the key file')));
    expect(await used()).toBe('sk-file-two-0123456789');
  });
});
