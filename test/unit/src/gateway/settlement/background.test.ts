import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Registry } from 'prom-client';
import { Background } from '../../../../../src/gateway/settlement/background.ts';
import { Metrics } from '../../../../../src/telemetry/metrics.ts';
import { capturedLog } from '../../../../support/captured-log.ts';
import { sampleExchange } from '../../../sample-exchange.ts';

const max_background_ms = 5000;
let registry: Registry;
let background: Background;
let captured: ReturnType<typeof capturedLog>;

beforeEach(() => {
  jest.useFakeTimers();
  registry = new Registry();
  captured = capturedLog();
  background = new Background({ max_background_ms, max_background: 2 }, new Metrics(registry));
});
afterEach(() => {
  jest.useRealTimers();
});

/** A reply that is still coming; `cancel` fails it, as attempts do. */
function reply() {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // One test never waits for it.
  promise.catch(() => {});
  const source = { ended: false, cancel: jest.fn(() => reject(new Error('cancelled'))) };
  const exchange = sampleExchange({ start: { log: captured.log } });
  const read = () => background.finish(exchange, source, promise);
  return { exchange, source, read, end: resolve, fail: reject };
}

const running = async () =>
  (await registry.getSingleMetric('sluice_background_reads')!.get()).values[0]!.value;

describe('a reply that is read in the background', () => {
  it.each(['end', 'fail'] as const)('is counted until its %s, and nothing follows', async how => {
    const { source, read, ...ending } = reply();
    const reading = read();
    expect(await running()).toBe(1);
    ending[how]();
    await reading;
    expect([await running(), jest.getTimerCount()]).toEqual([0, 0]);
    jest.advanceTimersByTime(max_background_ms);
    expect(source.cancel).not.toHaveBeenCalled();
    expect(captured.lines).toEqual([]);
  });

  it('is cancelled and logged when its time is over', async () => {
    const { source, read } = reply();
    const reading = read();
    jest.advanceTimersByTime(max_background_ms - 1);
    expect(source.cancel).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1);
    await reading;
    expect(source.cancel).toHaveBeenCalledTimes(1);
    expect(captured.lines).toMatchObject([
      { msg: 'stopped reading a reply for billing after max_background_ms' },
    ]);
    expect(await running()).toBe(0);
  });

  it('is cancelled at once where too many are being read already', async () => {
    const [first, second, third] = [reply(), reply(), reply()];
    const reading = [first.read(), second.read()];
    await third.read();
    expect(third.source.cancel).toHaveBeenCalledTimes(1);
    expect(await running()).toBe(2);
    first.end();
    second.end();
    await Promise.all(reading);
    const fourth = reply();
    const readOn = fourth.read();
    expect(fourth.source.cancel).not.toHaveBeenCalled();
    fourth.end();
    await readOn;
  });

  it.each([
    ['is given up when the gateway closes', true, 'background_aborted'],
    ['is not given up by what comes after its end', false, 'shutdown'],
  ])('%s', async (_, isDuring, reason) => {
    const { exchange, read, end } = reply();
    const reading = read();
    if (isDuring) exchange.abort('shutdown');
    end();
    await reading;
    exchange.abort('shutdown');
    expect([exchange.end.reason, await running()]).toEqual([reason, 0]);
  });

  it('is not awaited where nothing more will come', async () => {
    const { source, read } = reply();
    source.ended = true;
    await read();
    expect(source.cancel).toHaveBeenCalledTimes(1);
    expect(await running()).toBe(0);
  });
});

it('waits for the result of a reply that it has cancelled', async () => {
  const pending = Promise.withResolvers<void>();
  let isOver = false;
  const finished = background
    .finish(sampleExchange(), { ended: true, cancel() {} }, pending.promise)
    .then(() => {
      isOver = true;
    });
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  expect(isOver).toBe(false);
  pending.reject(new Error('cancelled'));
  await finished;
});

it('cancels a source with nothing pending', async () => {
  const { source } = reply();
  await background.finish(sampleExchange(), source, undefined);
  expect(source.cancel).toHaveBeenCalledTimes(1);
});

it('does nothing where no reply was requested', async () => {
  await background.finish(sampleExchange(), undefined, undefined);
  expect(await running()).toBe(0);
});
