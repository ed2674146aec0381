import { beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { StoreCircuitBreaker } from '../../../../../src/mount/state/store-circuit-breaker.ts';
import { CannotServe, CommandRejected, Unreachable } from '../../../../../src/records/remote-state.ts';
import { StoreMetrics } from '../../../../../src/telemetry/store-metrics.ts';
import { capturedLog } from '../../../../support/captured-log.ts';

let circuit: StoreCircuitBreaker;
let registry: Registry;
let lines: ReturnType<typeof capturedLog>['lines'];
let opened: unknown[];
let closed: number;

beforeEach(() => {
  registry = new Registry();
  const captured = capturedLog();
  lines = captured.lines;
  circuit = new StoreCircuitBreaker(new StoreMetrics(registry), captured.log);
  opened = [];
  closed = 0;
  circuit.on('out', ({ cause }) => opened.push(cause));
  circuit.on('closed', () => closed++);
});

const fails = (error: Error) => () => Promise.reject(error);
const ask = (error: Error) => circuit.call('exchange', fails(error)).catch((thrown: unknown) => thrown);
const probe = (error: Error) => circuit.probe('heartbeat', fails(error)).catch(() => {});
const works = async () => 'done';
/** Operations that all waited in one silence, the heartbeat among them. */
const silence = (operations: number) => {
  const cause = new Error('no answer within 225 ms');
  const fault = () => new Unreachable('no answer', { cause });
  return Promise.all([...Array.from({ length: operations }, () => ask(fault())), probe(fault())]);
};
const metric = async (series: string) =>
  Number(
    (await registry.metrics())
      .split('\n')
      .find(line => line.startsWith(`${series} `))
      ?.split(' ')[1],
  );

/** The gauge by operation. */
const up = async (): Promise<Record<string, number>> => {
  const samples = (await registry.metrics()).matchAll(
    /^sluice_store_up\{store="state",operation="(\w+)"\} (\d)/gm,
  );
  return Object.fromEntries([...samples].map(([, operation, value]) => [operation, Number(value)]));
};

describe('the circuit breaker of the state store', () => {
  it('counts one silence once, however many operations waited in it', async () => {
    await silence(50);
    await silence(0);
    expect([circuit.closed, circuit.outage !== undefined, opened]).toEqual([false, false, []]);
    // The fault itself, not the one that wraps it and repeats it.
    expect(lines[0]).toMatchObject({ err: { message: 'no answer within 225 ms' } });
    expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
      [40, 'the state store failed'],
      [40, 'the state store failed'],
    ]);
    expect(await up()).toEqual({ exchange: 0, heartbeat: 0 });
    await silence(0);
    expect(await up()).toEqual({ exchange: 0, heartbeat: 0 });
    expect([circuit.outage !== undefined, opened.length]).toEqual([true, 1]);
    expect(await metric('sluice_store_outages_total{store="state"}')).toBe(1);
    expect(await metric('sluice_store_errors_total{store="state",operation="exchange"}')).toBe(50);
  });

  it('lets no exchange wait after a silence until the heartbeat is answered', async () => {
    await silence(1);
    let asked = 0;
    const take = () =>
      circuit.call('exchange', async () => {
        asked++;
      });
    await expect(take()).rejects.toThrow(Unreachable);
    expect(asked).toBe(0);
    await circuit.probe('heartbeat', works);
    await take();
    expect([asked, closed]).toEqual([1, 1]);
  });

  it('forgets silences after an answer to the heartbeat', async () => {
    for (let time = 0; time < 5; time++) {
      await silence(2);
      await circuit.probe('heartbeat', works);
    }
    expect([circuit.closed, opened]).toEqual([true, []]);
  });

  it('opens at once when the store answers that it cannot serve, and sends nothing more', async () => {
    const reply = new CannotServe('OOM command not allowed');
    await ask(reply);
    expect([circuit.closed, opened]).toEqual([false, [reply]]);
    expect(Object.values(await up())).toEqual([0, 0]);
    let asked = false;
    const refused = circuit.call('exchange', async () => {
      asked = true;
    });
    await expect(refused).rejects.toThrow(Unreachable);
    expect(asked).toBe(false);
  });

  it('reports one outage however long it lasts, and closes when a probe succeeds', async () => {
    for (let time = 0; time < 20; time++) await probe(new CannotServe('MISCONF'));
    expect([opened.length, closed]).toEqual([1, 0]);
    await circuit.probe('heartbeat', works);
    expect([circuit.closed, closed]).toEqual([true, 1]);
    expect(await metric('sluice_store_outages_total{store="state"}')).toBe(1);
    expect(Object.values(await up())).toEqual([1, 1]);
    await ask(new CannotServe('MISCONF'));
    expect(await metric('sluice_store_outages_total{store="state"}')).toBe(2);
  });

  it('stays closed when commands are rejected, and logs one of them a minute', async () => {
    for (let time = 0; time < 50; time++) await ask(new CommandRejected('WRONGTYPE Operation against a key'));
    expect([circuit.closed, opened]).toEqual([true, []]);
    expect(lines).toMatchObject([
      { level: 50, operation: 'exchange', msg: 'the state store rejected a command' },
    ]);
  });

  it('shows an operation that fails as down while the heartbeat succeeds, until its next success', async () => {
    for (const fault of [
      new CannotServe('NOPERM'),
      new CommandRejected('WRONGTYPE'),
      new Unreachable('late'),
    ]) {
      await ask(fault);
      await circuit.probe('heartbeat', works);
      expect(await up()).toEqual({ exchange: 0, heartbeat: 1 });
      await circuit.call('exchange', works);
      expect(Object.values(await up())).toEqual([1, 1]);
    }
  });

  it('closes when the probe is rejected, since an unwritable store would have answered that first', async () => {
    await ask(new CannotServe('READONLY'));
    await probe(new CommandRejected('WRONGTYPE'));
    expect(circuit.closed).toBe(true);
  });

  it('shows its outages in the metrics before the first one', async () => {
    expect(await metric('sluice_store_outages_total{store="state"}')).toBe(0);
  });
});
