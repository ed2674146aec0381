import { afterEach, describe, expect, it } from '@jest/globals';
import { ConfigError, type GatewayConfig } from '../../src/index.ts';
import { ask, configOf, eventsOf } from '../support/gateway-under-test.ts';
import { finished, said } from '../support/hostile-setting.ts';
import { answerOf, closeReloaded, reloadable, upstreamSaying } from '../support/reload-setting.ts';
import { chunk, events, lastChunk, streamHead } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

afterEach(closeReloaded);

describe('gateway.reload', () => {
  it('lets a stream end under the configuration in which it began, while new requests go by the new one', async () => {
    const [one, other] = [await upstreamSaying('one'), await upstreamSaying('other')];
    const gateway = await reloadable({ upstream: one });
    let finish = () => {};
    one.replyOnce(socket => {
      socket.write(Buffer.concat([Buffer.from(streamHead()), chunk(events(said('begun')))]));
      finish = () =>
        socket.write(
          Buffer.concat([chunk(events(said(' and ended'), finished(), '[DONE]')), Buffer.from(lastChunk)]),
        );
    });
    const running = await gateway.post(ask('Stream!', { stream: true }));
    const reloaded = await gateway.gateway.reload(configOf({ upstream: other }));
    expect(reloaded).toEqual({ changed: ['providers'], needsRestart: [], warnings: [] });
    expect(await answerOf(gateway)).toBe('other');
    expect(gateway.gateway.inFlight).toBe(1);
    finish();
    const read = eventsOf(await running.text()).map(({ json }) => json.choices?.[0]?.delta.content ?? '');
    expect(read.join('')).toBe('begun and ended');
    await until(() => one.open === 0);
    expect(gateway.gateway.inFlight).toBe(0);
  });

  it('refuses a configuration with all its mistakes, and serves on', async () => {
    const upstream = await upstreamSaying('still here');
    const gateway = await reloadable({ upstream });
    const { settings } = gateway.gateway;
    const wrong = { ...configOf({ upstream }), models: [], plans: { free: { requests_per_minut: 3 } } };
    const refused = gateway.gateway.reload(wrong as unknown as GatewayConfig);
    await expect(refused).rejects.toThrow(ConfigError);
    await expect(refused).rejects.toThrow(/models[\s\S]*requests_per_minut/);
    expect(gateway.gateway.settings).toBe(settings);
    expect(await answerOf(gateway)).toBe('still here');
    expect(await gateway.metric('sluice_config_reloads_total', { result: 'failure' })).toBe(1);
    expect(await gateway.metric('sluice_config_last_reload_successful')).toBe(0);
    await gateway.gateway.reload();
    expect(await gateway.metric('sluice_config_last_reload_successful')).toBe(1);
  });

  it('replaces models, accounts and keys at once', async () => {
    const upstream = await upstreamSaying('hello');
    const gateway = await reloadable({ upstream });
    const other = 'sk-another-key-0123456789';
    const { models, ...rest } = configOf({ upstream });
    const accounts = { second: { keys: [{ value: other }] } };
    await gateway.gateway.reload({ ...rest, models: models.slice(0, 1), accounts });
    expect([await answerOf(gateway), await answerOf(gateway, other)]).toEqual([401, 'hello']);
    const listed = (await (await fetch(`${gateway.url}/v1/models`)).json()) as { data: { id: string }[] };
    expect(listed.data.map(({ id }) => id)).toEqual([models[0]!.id]);
    const metrics = await gateway.metrics();
    expect(models.filter(({ id }) => metrics.includes(`"${id}"`)).map(({ id }) => id)).toEqual([
      models[0]!.id,
    ]);
  });
});
