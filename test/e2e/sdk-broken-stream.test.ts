import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI, { APIError } from 'openai';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { clientKey } from '../support/gateway-under-test.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';
import { until } from '../support/until.ts';

let simulator: Simulator;
let sidecar: SidecarProcess;
let openai: OpenAI;

beforeAll(async () => {
  simulator = await startSimulator();
  sidecar = await startSidecar(sidecarConfig(simulator.url));
  openai = new OpenAI({ apiKey: clientKey, baseURL: `${sidecar.url}/v1`, maxRetries: 0 });
});

afterAll(async () => {
  await sidecar?.stop();
  await simulator?.close();
});

const openStream = (content: string) =>
  openai.chat.completions.create({
    model: 'aion-labs/aion-3.5',
    messages: [{ role: 'user', content }],
    stream: true,
  });

/** What was thrown. */
async function thrownBy(running: PromiseLike<unknown>): Promise<APIError> {
  try {
    await running;
  } catch (thrown) {
    if (thrown instanceof APIError) return thrown;
    throw thrown;
  }
  throw new Error('nothing was thrown');
}

describe('an error after the start of a stream', () => {
  it.each([
    ['an error event', 'error=4', /returned an error/],
    ['a reset', 'reset=4', /closed the stream unexpectedly/],
    ['an end without finish_reason', 'truncate=4', /closed the stream unexpectedly/],
    ['an event that is not JSON', 'garbage=4', /invalid response/],
  ])('is thrown with its message and type: %s', async (_, fault, says) => {
    const stream = await openStream(`Hello [[sim:${fault}]]`);
    let chunks = 0;
    const error = await thrownBy(
      (async () => {
        for await (const _chunk of stream) chunks++;
      })(),
    );
    expect(chunks).toBe(4);
    expect(error.constructor).toBe(APIError);
    expect(error.status).toBeUndefined();
    expect(error.type).toBe('provider_error');
    expect(error.message).toMatch(says);
  });

  it('is thrown by the stream helper as well', async () => {
    const stream = openai.chat.completions.stream({
      model: 'aion-labs/aion-3.5',
      messages: [{ role: 'user', content: 'Hello [[sim:reset=4]]' }],
    });
    const error = await thrownBy(stream.finalChatCompletion());
    expect(error.type).toBe('provider_error');
  });
});

describe('a stream that its client leaves', () => {
  const endless = 'Hello [[sim:tokens=endless tps=100 chunk=1]]';

  it('is aborted upstream when the loop ends early', async () => {
    const { aborted } = simulator.stats;
    let seen = 0;
    for await (const _ of await openStream(endless)) if (++seen === 10) break;
    await until(() => simulator.stats.aborted === aborted + 1);
    expect(simulator.stats.open).toBe(0);
  });

  it('is aborted upstream by its abort controller', async () => {
    const { aborted } = simulator.stats;
    const stream = await openStream(endless);
    setTimeout(() => stream.controller.abort(), 100);
    let seen = 0;
    for await (const _ of stream) seen++;
    expect(seen).toBeGreaterThan(0);
    await until(() => simulator.stats.aborted === aborted + 1);
    expect(simulator.stats.open).toBe(0);
  });
});
