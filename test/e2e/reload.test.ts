import { afterEach, describe, expect, it } from '@jest/globals';
import { ConfigError, createGateway, defineStage, type GatewayConfig } from '../../src/index.ts';
import { DashboardVisitor, dashboardAdmin, operator, password_hash } from '../support/dashboard-visitor.ts';
import {
  ask,
  clientKey,
  configOf,
  eventsOf,
  type GatewayOverrides,
  type GatewayUnderTest,
} from '../support/gateway-under-test.ts';
import { completion, finished, said } from '../support/hostile-setting.ts';
import { liveEvents } from '../support/live-events.ts';
import { answerOf, closeReloaded, reloadable, upstreamSaying } from '../support/reload-setting.ts';
import { chunk, events, head, lastChunk, streamHead, whole } from '../support/scripted-upstream.ts';
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

const isOpen = (gateway: GatewayUnderTest) => gateway.metric('sluice_breaker_state', { state: 'open' });

describe('a provider that stays at its server', () => {
  const breaker = { consecutive_failures: 1, open_ms: 600_000, max_open_ms: 600_000 };

  it('keeps its open circuit breaker when other options change, and has a new one at another server', async () => {
    const [upstream, other] = [await upstreamSaying('one'), await upstreamSaying('other')];
    const model = { routing: { when_all_unavailable: 'refuse', retries_per_upstream: 0 } };
    const gateway = await reloadable({ upstream, model, provider: { breaker } });
    upstream.reply(whole(500, { error: { message: 'no' } }));
    expect(await answerOf(gateway)).toBe(502);
    upstream.reply(whole(200, completion('one')));
    const changed = { breaker: { ...breaker, probes: 1 }, max_concurrent: 7 };
    await gateway.gateway.reload(configOf({ upstream, model, provider: changed }));
    expect([await isOpen(gateway), await answerOf(gateway), upstream.requests.length]).toEqual([1, 502, 1]);
    await gateway.gateway.reload(configOf({ upstream: other, model, provider: changed }));
    expect([await isOpen(gateway), await answerOf(gateway)]).toEqual([0, 'other']);
  });

  it('keeps the permits that are in use, under the new limit', async () => {
    const upstream = await upstreamSaying('whole');
    const gateway = await reloadable({ upstream, provider: { max_concurrent: 2 } });
    let finish = () => {};
    upstream.replyOnce(socket => {
      socket.write(Buffer.concat([Buffer.from(streamHead()), chunk(events(said('begun')))]));
      finish = () =>
        socket.write(Buffer.concat([chunk(events(finished(), '[DONE]')), Buffer.from(lastChunk)]));
    });
    const stream = await gateway.post(ask('Stream!', { stream: true }));
    await gateway.gateway.reload(configOf({ upstream, provider: { max_concurrent: 1, max_queue: 0 } }));
    expect(await gateway.metric('sluice_provider_in_flight')).toBe(1);
    expect(await answerOf(gateway)).toBe(502);
    finish();
    await stream.text();
    await until(async () => (await gateway.metric('sluice_provider_in_flight')) === 0);
    expect(await answerOf(gateway)).toBe('whole');
  });

  it('keeps the pause of a key that is still there', async () => {
    const [limited, second, third] = ['sk-limited-012345', 'sk-second-0123456', 'sk-third-01234567'];
    const upstream = await upstreamSaying('hello');
    const keys = (...api_keys: string[]) => ({ upstream, provider: { api_key: undefined, api_keys } });
    const gateway = await reloadable(keys(limited, second));
    upstream.replyOnce(whole(429, { error: { message: 'slow' } }, { 'retry-after': '300' }));
    expect(await answerOf(gateway)).toBe('hello');
    await gateway.gateway.reload(configOf(keys(limited, third)));
    const before = upstream.requests.length;
    for (let count = 0; count < 3; count++) expect(await answerOf(gateway)).toBe('hello');
    const used = upstream.requests.slice(before).map(({ headers }) => headers.authorization);
    expect(used).toEqual(Array.from({ length: 3 }, () => `Bearer ${third}`));
  });

  it('keeps what its health check knows, and checks as the new options say', async () => {
    const upstream = await upstreamSaying('hello');
    const unhealthy = { path: '/health', interval_ms: 100, unhealthy_after: 1 };
    upstream.reply((socket, { path }) =>
      socket.write(path === '/health' ? head(503, { 'content-length': 0 }) : whole(200, completion('hello'))),
    );
    const gateway = await reloadable({ upstream, provider: { health_check: unhealthy } });
    await until(async () => (await gateway.metric('sluice_provider_healthy')) === 0);
    const rare = { ...unhealthy, path: '/other', interval_ms: 600_000, healthy_after: 2 };
    upstream.reply(whole(200, completion('hello')));
    await gateway.gateway.reload(configOf({ upstream, provider: { health_check: rare } }));
    await until(() => upstream.requests.some(({ path }) => path === '/other'));
    expect(await gateway.metric('sluice_provider_healthy')).toBe(0);
  });
});

describe('what has left the configuration and comes back', () => {
  it('is counted anew: a provider in series of its own', async () => {
    const upstream = await upstreamSaying('hello');
    const named = (name: string) => ({
      ...configOf({ upstream }),
      providers: { [name]: { adapter: 'vllm', base_url: `${upstream.url}/v1` } },
      models: configOf({ upstream }).models.map(model => ({
        ...model,
        upstreams: [{ provider: name, model: 'any' }],
      })),
    });
    const gateway = await reloadable({ upstream });
    const asked = (provider: string) =>
      gateway.metric('gen_ai_client_operation_duration_seconds_count', { sluice_provider: provider });
    for (const name of ['first', 'second', 'first']) {
      await gateway.gateway.reload(named(name) as GatewayConfig);
      expect(await answerOf(gateway)).toBe('hello');
      expect(await asked(name)).toBe(1);
    }
    expect(await gateway.metrics()).not.toContain('sluice_provider="second"');
  });

  it('has an empty cache: a stage that keeps replies', async () => {
    const upstream = await upstreamSaying('hello');
    const stages: GatewayConfig['stages'] = ['error-envelope', 'auth', 'validation'];
    const caching = { upstream, config: { stages: [...stages, 'response-cache'] } } as GatewayOverrides;
    const gateway = await reloadable(caching);
    const ask = async () => {
      expect(await answerOf(gateway)).toBe('hello');
      return upstream.requests.length;
    };
    expect([await ask(), await ask()]).toEqual([1, 1]);
    // As long as it stays it keeps them, also beyond the end of the configuration that began them.
    for (const ttl_s of [3000, 2000]) {
      const other = { 'response-cache': { ttl_s } };
      await gateway.gateway.reload(configOf({ upstream, config: { stages: [...stages, other] } }));
      expect(await ask()).toBe(1);
    }
    await gateway.gateway.reload(configOf({ upstream, config: { stages } }));
    await gateway.gateway.reload(configOf(caching));
    expect(await ask()).toBe(2);
  });
});

describe('a limit that has changed', () => {
  it('counts what was used before', async () => {
    const upstream = await upstreamSaying('hello');
    const limited = (requests_per_minute: number) =>
      ({
        plans: { small: { requests_per_minute } },
        accounts: { tester: { plan: 'small', keys: [{ value: clientKey }] } },
      }) as Partial<GatewayConfig>;
    const gateway = await reloadable({ upstream, config: limited(2) });
    expect(await answerOf(gateway)).toBe('hello');
    await gateway.gateway.reload(configOf({ upstream, config: limited(4) }));
    const { headers } = await gateway.post(ask('How many?'));
    expect(headers.get('x-ratelimit-remaining-requests')).toBe('2');
    await gateway.gateway.reload(configOf({ upstream, config: limited(1) }));
    expect(await answerOf(gateway)).toBe(429);
  });
});

describe('people at the dashboard', () => {
  it('stay signed in, with the role that they have now, and are signed out when they are removed, also where they only watch', async () => {
    const upstream = await upstreamSaying('hello');
    const users = (...names: string[]) => ({
      admin: dashboardAdmin({
        users: Object.fromEntries(
          names.map(each => each.split(' ')).map(([name, role = 'admin']) => [name, { password_hash, role }]),
        ),
      }),
    });
    const gateway = await reloadable({ upstream, config: users('olga', 'otto') });
    const { dashboard } = gateway.gateway;
    const visitors = ['olga', 'otto'].map(() => new DashboardVisitor(`${gateway.adminUrl}/dashboard/`));
    await visitors[0]!.signIn();
    await visitors[1]!.signIn(operator.password, 'otto');
    const live = await liveEvents(visitors[1]!, 'overview-live');
    await gateway.gateway.reload(configOf({ upstream, config: users('olga viewer', 'new') }));
    while (await live.next());
    const pages = await Promise.all(visitors.map(visitor => visitor.get('models')));
    expect(pages.map(({ status }) => status)).toEqual([200, 303]);
    expect(pages[0]!.text).toContain('olga · viewer');
    expect(gateway.gateway.dashboard).toBe(dashboard);
    expect((await new DashboardVisitor(visitors[0]!.base).signIn(operator.password, 'new')).status).toBe(303);
  });
});

describe('stages', () => {
  const events: string[] = [];
  let made = 0;
  const witness = defineStage({
    name: 'witness',
    create: () => {
      const own = ++made;
      return {
        onSettled: () => void events.push(`settled ${own}`),
        close: () => void events.push(`closed ${own}`),
      };
    },
  });

  it('are kept while nothing about them changes, and closed after the last exchange that they have seen', async () => {
    const upstream = await upstreamSaying('hello');
    const config = configOf({ upstream });
    const gateway = await createGateway(config, { stages: ['auth', witness()] });
    await gateway.reload({ ...config, server: { ...config.server, drain_ms: 5 } });
    expect([made, events]).toEqual([1, []]);
    await gateway.reload({ ...config, plans: { free: {} } });
    expect([made, events]).toEqual([2, ['closed 1']]);
    await gateway.close(0);
    expect(events).toEqual(['closed 1', 'closed 2']);
  });

  it('that cannot be created leave everything as it was', async () => {
    const upstream = await upstreamSaying('hello');
    let isBroken = false;
    const closed: string[] = [];
    const first = defineStage({ name: 'first', create: () => ({ close: () => void closed.push('first') }) });
    const fragile = defineStage({
      name: 'fragile',
      create: () => {
        if (isBroken) throw new Error('its file is locked');
        return { onSettled: () => {} };
      },
    });
    const config = configOf({ upstream });
    const gateway = await createGateway(config, { stages: ['auth', first(), fragile()] });
    isBroken = true;
    const refused = gateway.reload({
      ...config,
      plans: { free: {} },
      providers: configOf({ upstream, provider: { max_concurrent: 3 } }).providers,
    });
    await expect(refused).rejects.toThrow(/options.stages\[2\].*its file is locked/);
    expect(gateway.settings.plans).toEqual({});
    await until(() => closed.length === 1);
    await gateway.close(0);
    expect(closed).toHaveLength(2);
  });
});

describe('sixty reloads', () => {
  it('leave as many sockets, timers, listeners and series as two', async () => {
    const [one, other] = [await upstreamSaying('one'), await upstreamSaying('other')];
    const health_check = { path: '/health', interval_ms: 100 };
    const [model] = configOf({ upstream: one }).models;
    const configs = [
      configOf({ upstream: one, provider: { health_check } }),
      { ...configOf({ upstream: other, provider: { health_check } }), models: [model!] },
    ];
    const gateway = await reloadable({ upstream: one });
    const turn = async (count: number) => {
      await gateway.gateway.reload(configs[count % 2]);
      if (count % 6 < 2) expect(await answerOf(gateway)).toBe(count % 2 ? 'other' : 'one');
    };
    const counts = async () => {
      const resources = Object.groupBy(process.getActiveResourcesInfo(), kind => kind);
      const listeners = process.eventNames().map(name => process.listenerCount(name));
      // Others begin with what they count, such as the first write of the ledger.
      const own = (await gateway.metrics())
        .split('\n')
        .filter(line => /sluice_provider=|request_model=/.test(line));
      const lines = own.map(line => line.replace(/ \S+$/, ''));
      return {
        timers: resources.Timeout?.length ?? 0,
        sockets: (resources.TCPSocketWrap?.length ?? 0) + (resources.TCPSERVERWRAP?.length ?? 0),
        watches: resources.StatWatcher?.length ?? 0,
        listeners: listeners.reduce((sum, count) => sum + count, 0),
        series: new Set(lines).size,
      };
    };
    for (let count = 0; count < 12; count++) await turn(count);
    // The first row of the ledger, which is written some time after its request, brings series of its own.
    await until(async () => (await gateway.metrics()).includes('operation="ledger_insert"'));
    const before = await counts();
    for (let count = 0; count < 60; count++) await turn(count);
    await until(async () => {
      const now = await counts();
      return (Object.keys(before) as (keyof typeof before)[]).every(name => now[name] <= before[name]);
    });
    expect(await gateway.metric('sluice_config_reloads_total', { result: 'success' })).toBe(72);
    // The last configuration checks its server; no other one does.
    const [asked, checked] = [one.requests.length, other.requests.length];
    await until(() => other.requests.length >= checked + 3);
    expect(one.requests.length).toBe(asked);
    expect(other.requests.length).toBeLessThan(checked + 10);
  });
});
