import { afterEach, describe, expect, it } from '@jest/globals';
import { Pace, type Paced } from '../../../src/simulator/pace.ts';
import { ask, closeAll, complete, post, simulate } from './client.ts';

afterEach(closeAll);

const sleep = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));

describe('Pace', () => {
  it('calls each callback on time, never early, and drops cancelled ones', async () => {
    const pace = new Pace();
    const called: string[] = [];
    const start = pace.now();
    const wait = (name: string, after_ms: number): Paced => {
      const paced: Paced = { slot: -1, due: () => called.push(`${name} ${pace.now() - start >= after_ms}`) };
      pace.schedule(paced, start + after_ms);
      return paced;
    };
    wait('late', 60);
    wait('early', 10);
    pace.cancel(wait('cancelled', 20));
    pace.schedule(wait('moved', 5), start + 90);
    await sleep(300);
    expect(called).toEqual(['early true', 'late true', 'moved true']);
  });

  it('lets one callback cancel another that is due at the same moment', async () => {
    const pace = new Pace();
    const called: string[] = [];
    const second: Paced = { slot: -1, due: () => called.push('second') };
    const first: Paced = {
      slot: -1,
      due: () => {
        called.push('first');
        pace.cancel(second);
      },
    };
    const due_ms = pace.now() + 20;
    pace.schedule(first, due_ms);
    pace.schedule(second, due_ms);
    await sleep(200);
    expect(called).toEqual(['first']);
  });

  it('calls no callback after stop', async () => {
    const pace = new Pace();
    let calls = 0;
    pace.schedule({ slot: -1, due: () => (calls += 1) }, pace.now() + 5);
    pace.stop();
    await sleep(60);
    expect(calls).toBe(0);
  });
});

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

  it('spread the tokens over time without drift', async () => {
    const simulator = await simulate({ reasoning: 'none', tokens_per_second: 100 });
    const start = performance.now();
    const response = await post(simulator, ask('Hello [[sim:tokens=51]]', { stream: true }));
    let pieces = 0;
    for await (const _ of response.body ?? []) pieces += 1;
    const took_ms = performance.now() - start;
    expect(took_ms).toBeGreaterThanOrEqual(499);
    expect(took_ms).toBeLessThan(5_000);
    expect(pieces).toBeGreaterThan(3);
  });

  it('delay a plain completion by ttft and all its tokens', async () => {
    const simulator = await simulate({ reasoning: 'none' });
    const start = performance.now();
    await complete(simulator, ask('[[sim:ttft=100 tps=100 tokens=20]]'));
    expect(performance.now() - start).toBeGreaterThanOrEqual(299);
  });

  it('serve many slow streams at a time', async () => {
    const simulator = await simulate({ reasoning: 'none', ttft_ms: 50, tokens_per_second: 20 });
    const texts = await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const response = await post(simulator, ask(`Hello ${index} [[sim:tokens=11]]`, { stream: true }));
        return response.text();
      }),
    );
    expect(texts.every(text => text.endsWith('data: [DONE]\n\n'))).toBe(true);
    expect(simulator.stats).toMatchObject({ requests: 200, completed: 200, open: 0 });
  });
});
