import { afterEach, describe, expect, it } from '@jest/globals';
import { vllm } from '../../../../../../plugins/providers/vllm/index.ts';
import { providerBaseSchema } from '../../../../../../src/config/provider-schema.ts';
import type { Failure, FailureKind } from '../../../../../../src/gateway/upstream/attempt/attempt-failure.ts';
import { Provider } from '../../../../../../src/gateway/upstream/http/provider.ts';
import { AttemptPermit } from '../../../../../../src/gateway/upstream/routing/attempt-permit.ts';
import { Upstream } from '../../../../../../src/gateway/upstream/routing/upstream.ts';
import { createLog } from '../../../../../../src/telemetry/log.ts';
import { FakeClock } from '../../../../../support/fake-clock.ts';
import { sampleRequest } from '../../../../sample-exchange.ts';

const providers: Provider[] = [];
afterEach(async () => {
  await Promise.all(providers.splice(0).map(provider => provider.close()));
});

function upstreamWith(breaker: object = {}) {
  const clock = new FakeClock();
  const config = providerBaseSchema.parse({ base_url: 'http://127.0.0.1:9/v1', breaker });
  const content = { capture_content: false, max_content_characters: 1 };
  const provider = new Provider('a', vllm, config, {}, { clock, log: createLog('silent'), content });
  providers.push(provider);
  const target = { model: 'm', effortMap: {}, extraParameters: [] };
  const upstream = new Upstream(provider, target, { priority: 1, weight: 1 });
  const acquire = (stream = true) =>
    AttemptPermit.acquire(upstream, sampleRequest({ stream }), clock.elapsed_ms());
  const latency_ms = (stream = true) => upstream.latency_ms(stream, clock.elapsed_ms());
  return { clock, provider, upstream, acquire, latency_ms, breaker: provider.breaker };
}

const failure = (kind: FailureKind): Failure => ({ kind, error: undefined as never });
const one = { consecutive_failures: 1, open_ms: 1000, probes: 2 };

describe('an attempt permit', () => {
  it('is released once, however the attempt ends', () => {
    const { provider, acquire } = upstreamWith();
    for (const end of [undefined, 'given up', failure('broken')] as const) {
      const permit = acquire();
      expect(provider.bulkhead.in_flight).toBe(1);
      permit.ended(end, 0);
      permit.ended(end, 0);
      expect(provider.bulkhead.in_flight).toBe(0);
    }
  });
});

describe('the circuit breaker', () => {
  it.each<[string, string, readonly FailureKind[]]>([
    ['counts', 'open', ['status', 'unreachable', 'timeout', 'broken', 'invalid']],
    ['does not count', 'closed', ['refused', 'misconfigured', 'rate_limited']],
  ])('%s as a failure what leaves it %s: %p', (_, state, kinds) => {
    for (const kind of kinds) {
      const { acquire, breaker } = upstreamWith(one);
      acquire().ended(failure(kind), 0);
      expect([kind, breaker.state]).toEqual([kind, state]);
    }
  });

  it('counts the first token of a probe as its success, once', () => {
    const { acquire, breaker, clock } = upstreamWith(one);
    acquire().ended(failure('broken'), 0);
    clock.advance(1000);
    const probe = acquire();
    probe.answered(clock.elapsed_ms());
    const second = acquire();
    probe.ended(undefined, clock.elapsed_ms());
    expect(breaker.state).toBe('half_open');
    second.answered(clock.elapsed_ms());
    expect(breaker.state).toBe('closed');
  });

  it('reopens when a stream breaks off after its first token had closed it', () => {
    const { acquire, breaker, clock } = upstreamWith({ ...one, probes: 1 });
    acquire().ended(failure('broken'), 0);
    clock.advance(1000);
    const probe = acquire();
    probe.answered(clock.elapsed_ms());
    expect(breaker.state).toBe('closed');
    probe.ended(failure('broken'), clock.elapsed_ms());
    expect(breaker.state).toBe('open');
  });

  it('ignores streams that began before the failures', () => {
    const { acquire, breaker, clock } = upstreamWith(one);
    const [breaking, going, ending] = [acquire(), acquire(), acquire()];
    acquire().ended(failure('broken'), 0);
    clock.advance(1000);
    acquire();
    breaking.answered(clock.elapsed_ms());
    breaking.ended(failure('broken'), clock.elapsed_ms());
    going.answered(clock.elapsed_ms());
    ending.ended(undefined, clock.elapsed_ms());
    expect(breaker.state).toBe('half_open');
    expect(breaker.retry_in_ms).toBeGreaterThan(0);
  });

  it('counts a stream that its client left as a success once it had begun', () => {
    const { acquire, breaker } = upstreamWith({ consecutive_failures: 2 });
    acquire().ended(failure('broken'), 0);
    const left = acquire();
    left.answered(0);
    left.ended('given up', 0);
    acquire().ended(failure('broken'), 0);
    expect(breaker.state).toBe('closed');
  });
});

describe('the measured latency', () => {
  it('is that of the first token, separately for streams and for whole replies', () => {
    const { acquire, clock, latency_ms } = upstreamWith();
    const [stream, whole] = [acquire(true), acquire(false)];
    clock.advance(200);
    stream.answered(clock.elapsed_ms());
    clock.advance(3000);
    stream.ended(undefined, clock.elapsed_ms());
    whole.answered(clock.elapsed_ms());
    expect([latency_ms(true), latency_ms(false)]).toEqual([200, 3200]);
  });

  it('is high for an attempt that fails at once', () => {
    const { acquire, clock, latency_ms } = upstreamWith();
    acquire().ended(failure('status'), clock.elapsed_ms());
    expect(latency_ms()).toBeGreaterThanOrEqual(1000);
  });

  it.each(['given up', failure('refused')] as const)('ignores an attempt that was %s', end => {
    const { acquire, latency_ms } = upstreamWith();
    acquire().ended(end, 0);
    expect(latency_ms()).toBeUndefined();
  });
});
