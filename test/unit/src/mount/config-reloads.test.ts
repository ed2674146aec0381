import { rmSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Registry } from 'prom-client';
import { systemClock } from '../../../../src/common/clock.ts';
import { loadConfig } from '../../../../src/config/load.ts';
import { bufferLimits } from '../../../../src/gateway/inbound/buffer-limits.ts';
import { BufferedBytes } from '../../../../src/gateway/inbound/buffered-bytes.ts';
import { Background } from '../../../../src/gateway/settlement/background.ts';
import { configuredParts, type LastingParts } from '../../../../src/mount/assemble.ts';
import { ConfigReloads, stateOf } from '../../../../src/mount/config-reloads.ts';
import type { GatewayProcess } from '../../../../src/mount/reload.ts';
import { RunningConfigurations } from '../../../../src/mount/running-configuration.ts';
import { MemoryStateStore } from '../../../../src/mount/state/counters/memory-state-store.ts';
import { ConfiguredAccounts } from '../../../../src/records/configured-accounts.ts';
import { Metrics } from '../../../../src/telemetry/metrics.ts';
import { ThrottledLog } from '../../../../src/telemetry/throttled-log.ts';
import { capturedLog } from '../../../support/captured-log.ts';
import { sampleConfig, temporaryFiles } from '../config/sample-config.ts';

type Forward = NonNullable<GatewayProcess['forward']>;
const file = temporaryFiles();
let path: string;
let registry: Registry;
let captured: ReturnType<typeof capturedLog>;
let running: RunningConfigurations;
let onReplaced: jest.Mock<() => void>;
let reloads: ConfigReloads | undefined;

const accounts = { demo: { keys: [{ value: 'sk-a-key-0123456789' }] } };
const configWith = (server: object, more: object = {}) => sampleConfig({ accounts, server, ...more });
/** Writes the file of the configuration, with these options of the server. */
const write = (server: object = {}) => writeFileSync(path, JSON.stringify(configWith(server)));
const drain_ms = () => running.current.parts.settings.server.drain_ms;
const said = () => captured.lines.map(({ msg }) => msg);
const counted = async () => {
  const { values } = await registry.getSingleMetric('sluice_config_reloads_total')!.get();
  return values.map(({ value }) => value);
};

/** The reloads of a gateway that serves the file, in this place among processes. */
async function reloadable(process: GatewayProcess = {}): Promise<ConfigReloads> {
  const state = stateOf(path);
  const settings = await loadConfig(path);
  const metrics = new Metrics(registry);
  const accounts = new ConfiguredAccounts(settings.accounts);
  const lasting: LastingParts = {
    terminal: true,
    clock: systemClock,
    log: captured.log,
    metrics,
    state: new MemoryStateStore(),
    ownsState: true,
    records: {
      accounts,
      store: {},
      controls: { current: new Map() },
      configure() {},
    } as unknown as LastingParts['records'],
    background: new Background(settings.server, metrics),
    buffered: new BufferedBytes(bufferLimits(settings.server), metrics.bodies),
    outages: new ThrottledLog(systemClock),
    caches: new Map(),
    setLogLevel() {},
  };
  running = new RunningConfigurations(configuredParts(settings, {}, lasting));
  reloads = new ConfigReloads({ source: path, state, options: {}, process, running, onReplaced });
  return reloads;
}

beforeEach(() => {
  path = file('sluice.json', '');
  write();
  registry = new Registry();
  captured = capturedLog();
  onReplaced = jest.fn();
});
afterEach(async () => {
  reloads?.close();
  await running.close();
  jest.useRealTimers();
});

describe('reloads of a configuration', () => {
  it('are done one after the other, calls that wait for the file as one, and a refused one keeps none from the next', async () => {
    const reloads = await reloadable();
    write({ drain_ms: 1 });
    const both = [reloads.reload(), reloads.reload()];
    const refused = reloads.reload(configWith({}, { models: [] })).catch(({ name }: Error) => name);
    const last = reloads.reload(configWith({ drain_ms: 3 }));
    expect(both[0]).toBe(both[1]);
    expect(await Promise.all([...both, refused, last])).toMatchObject([
      { changed: ['server'] },
      { changed: ['server'] },
      'ConfigError',
      { changed: ['server'] },
    ]);
    expect([drain_ms(), onReplaced.mock.calls.length, await counted()]).toEqual([3, 2, [2, 1]]);
    // What was waited for is over: this is another one.
    write({ drain_ms: 4 });
    await reloads.reload();
    expect(drain_ms()).toBe(4);
  });

  it('call for what follows once the other configuration serves', async () => {
    const reloads = await reloadable();
    const served: number[] = [];
    onReplaced.mockImplementation(() => void served.push(drain_ms()));
    await reloads.reload(configWith({ drain_ms: 7 }));
    expect(served).toEqual([7]);
  });

  it.each<[string, object, (goBack: jest.Mock<() => Promise<void>>) => Forward, number]>([
    ['has a mistake', { models: [] }, goBack => async () => goBack, 0],
    [
      'a worker refuses',
      {},
      () => async () => {
        throw new Error('worker 1 refused it');
      },
      0,
    ],
    [
      'comes too late, after workers have taken it',
      {},
      goBack => async () => {
        reloads!.close();
        return goBack;
      },
      1,
    ],
    [
      'describes a part that cannot be created, after workers have taken it',
      {},
      goBack => async settings => {
        Object.assign(settings, { providers: [{ name: 'none' }] });
        return goBack;
      },
      1,
    ],
  ])('leave everything as it was when one %s', async (_, changes, forwardTo, back) => {
    const goBack = jest.fn(async () => {});
    const reloads = await reloadable({ forward: forwardTo(goBack) });
    const { current } = running;
    await expect(reloads.reload(configWith({}, changes))).rejects.toThrow();
    expect(running.current).toBe(current);
    expect([goBack.mock.calls.length, onReplaced.mock.calls.length]).toEqual([back, 0]);
  });

  it('are counted and logged by the process that was asked, and not again by its workers', async () => {
    for (const [process, lines, count] of [
      [{}, ['configuration reloaded', 'configuration refused, the previous one stays in use'], [1, 1]],
      [{ primary: {} as never }, [], [0, 0]],
    ] as const) {
      reloads?.close();
      registry = new Registry();
      captured.lines.length = 0;
      const asked = await reloadable(process);
      await asked.reload();
      await asked.reload(configWith({}, { models: [] })).catch(() => {});
      expect([said(), await counted()]).toEqual([lines, count]);
    }
  });

  it('are refused once the gateway closes, also the one that runs', async () => {
    const reloads = await reloadable();
    const pending = reloads.reload();
    reloads.close();
    await expect(pending).rejects.toThrow('closing');
    await expect(reloads.reload()).rejects.toThrow('closing');
    expect([said(), await counted()]).toEqual([[], [0, 0]]);
  });
});

describe('the file of a configuration', () => {
  beforeEach(() => void jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] }));
  /** Lets so much time pass, and what it has begun be done. */
  const pass = async (ms: number) => {
    jest.advanceTimersByTime(ms);
    do await new Promise(resolve => setImmediate(resolve));
    while (jest.getTimerCount() === 0);
  };

  it('is watched while the configuration that serves says so, and until the gateway closes', async () => {
    const reloads = await reloadable();
    const watches: number[] = [];
    for (const reload_on_change of [true, true, false, true]) {
      write({ reload_on_change });
      await reloads.reload();
      watches.push(jest.getTimerCount());
    }
    reloads.close();
    expect([...watches, jest.getTimerCount()]).toEqual([1, 1, 0, 1, 0]);
  });

  it('is loaded when it changes, once for each change, and not while it is missing', async () => {
    const reloads = await reloadable();
    write({ reload_on_change: true });
    await reloads.reload();
    for (const ms of [2000, 250]) await pass(ms);
    write({ reload_on_change: true, drain_ms: 5 });
    await pass(2000);
    // A timer of something else may have ended the wait for the first look.
    while (drain_ms() !== 5) await pass(250);
    // Loaded by a call: no change any more.
    write({ reload_on_change: true, drain_ms: 6 });
    await reloads.reload();
    rmSync(path);
    for (const ms of [2000, 250, 2000]) await pass(ms);
    expect(said()).toEqual([
      ...Array(3).fill('configuration reloaded'),
      'the file of the configuration is missing; it is not reloaded',
    ]);
  });
});
