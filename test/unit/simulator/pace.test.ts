import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '../../support/until.ts';
import { ask, closeAll, complete, post, simulate } from './client.ts';

afterEach(closeAll);

describe('paced replies', () => {
  it('send the headers at once and the first chunk after ttft', async () => {
    const simulator = await simulate({ ttft_ms: 1_500 });
    const start = performance.now();
    const response = await post(simulator, ask('Hello', { stream: true }));
    const headers_ms = performance.now() - start;
    const reader = response.body?.getReader();
    const first = await reader?.read();
    expect(headers_ms).toBeLessThan(1_200);
    expect(performance.now() - start).toBeGreaterThanOrEqual(1_499);
    expect(Buffer.from(first?.value ?? []).toString()).toContain('"role":"assistant"');
  });

  it('send no token before its time', async () => {
    const simulator = await simulate({ reasoning: 'none', ttft_ms: 30, tokens_per_second: 100 });
    const start = performance.now();
    const response = await post(simulator, ask('Hello [[sim:tokens=21]]', { stream: true }));
    let sent = 0;
    for await (const part of response.body ?? []) {
      const elapsed_ms = performance.now() - start;
      sent += Buffer.from(part).toString().split('"content":"').length - 1;
      // The role chunk and the first token are due at once, then one token every 10 ms.
      expect(elapsed_ms).toBeGreaterThanOrEqual(30 + Math.max(0, Math.min(sent, 22) - 2) * 10);
    }
    expect(sent).toBeGreaterThanOrEqual(22);
  });

  it('are not sent once their server is closed', async () => {
    const simulator = await simulate({ ttft_ms: 60_000 });
    const replies = ['status=500', 'say=late', 'reset'].map(directive =>
      post(simulator, ask(`[[sim:${directive}]]`)).catch(() => 'closed'),
    );
    await until(() => simulator.stats.open === 3);
    await simulator.close();
    expect(await Promise.all(replies)).toEqual(['closed', 'closed', 'closed']);
    await until(() => simulator.stats.open === 0);
    expect(simulator.stats.aborted).toBe(3);
  });

  it('delay a plain completion by ttft and all its tokens', async () => {
    const simulator = await simulate({ reasoning: 'none' });
    const start = performance.now();
    await complete(simulator, ask('[[sim:ttft=100 tps=100 tokens=20]]'));
    expect(performance.now() - start).toBeGreaterThanOrEqual(299);
  });
});
