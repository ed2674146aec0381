import { describe, expect, it } from '@jest/globals';
import { ThrottledLog } from '../../../../src/telemetry/throttled-log.ts';
import { capturedLog } from '../../../support/captured-log.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

describe('a throttled log', () => {
  it('writes a line of each kind in ten seconds, with the number of those since the last one', () => {
    const clock = new FakeClock();
    const throttled = new ThrottledLog<'one' | 'two'>(clock);
    const { log, lines } = capturedLog();
    const write = (kind: 'one' | 'two') => throttled.write(kind, log, 'warn', { kind }, 'a fault');
    const written = () => lines.splice(0).map(({ kind, left_out, msg }) => ({ kind, left_out, msg }));
    const line = (kind: string, left_out?: number) => ({ kind, left_out, msg: 'a fault' });

    write('one');
    write('one');
    write('two');
    expect(written()).toEqual([line('one'), line('two')]);
    clock.advance(9999);
    write('one');
    expect(written()).toEqual([]);
    clock.advance(1);
    write('one');
    write('one');
    expect(written()).toEqual([line('one', 2)]);
    clock.advance(10_000);
    write('one');
    expect(written()).toEqual([line('one', 1)]);
    clock.advance(10_000);
    write('one');
    expect(written()).toEqual([line('one')]);
    clock.advance(15_000);
    write('one');
    clock.advance(9999);
    write('one');
    expect(written()).toEqual([line('one')]);
  });
});
