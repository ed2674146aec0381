import createInstructor from '@instructor-ai/instructor';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import OpenAI from 'openai';
// The library is made for this version of zod.
import { z } from 'zod/v3';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { clientKey } from '../support/gateway-under-test.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';

let simulator: Simulator;
let sidecar: SidecarProcess;

beforeAll(async () => {
  // It prints every error as well.
  jest.spyOn(console, 'error').mockImplementation(() => {});
  simulator = await startSimulator({ cached_tokens: 0.5 });
  sidecar = await startSidecar(sidecarConfig(simulator.url, { server: { non_stream_timeout_ms: 1500 } }));
});

afterAll(async () => {
  await sidecar?.stop();
  await simulator?.close();
});

type Mode = 'TOOLS' | 'JSON_SCHEMA' | 'JSON';
const response_model = { schema: z.object({ sides: z.number().int() }), name: 'Roll' };
const usage = {
  prompt_tokens: expect.any(Number),
  completion_tokens: expect.any(Number),
  total_tokens: expect.any(Number),
  prompt_tokens_details: { cached_tokens: expect.any(Number) },
  completion_tokens_details: { reasoning_tokens: expect.any(Number) },
};

function asked(mode: Mode, content: string, retries = 0) {
  const client = new OpenAI({ apiKey: clientKey, baseURL: `${sidecar.url}/v1`, maxRetries: retries });
  const { completions } = createInstructor({ client, mode }).chat;
  const request = {
    model: 'aion-labs/aion-3.5',
    messages: [{ role: 'user' as const, content }],
    response_model,
    max_retries: 0,
  };
  return { completions, request };
}

describe.each([
  ['TOOLS', '[[sim:tool]]'],
  ['JSON_SCHEMA', '[[sim:say={"sides":7}]]'],
  ['JSON', '[[sim:say={"sides":7}]]'],
] as const)('Instructor in the mode %s', (mode, directive) => {
  it('has an object of its schema and the usage', async () => {
    const { completions, request } = asked(mode, `Roll. ${directive}`);
    const roll = await completions.create(request);
    expect(roll).toMatchObject({ sides: expect.any(Number), _meta: { usage } });
  });

  it('has the object piece by piece from a stream', async () => {
    const { completions, request } = asked(mode, `Roll. ${directive}`);
    const pieces: unknown[] = [];
    for await (const piece of await completions.create({ ...request, stream: true }))
      pieces.push({ ...piece });
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.at(-1)).toMatchObject({ sides: expect.any(Number), _meta: { _isValid: true } });
  });
});

it('raises a refusal of the gateway in Instructor', async () => {
  const { completions, request } = asked('TOOLS', 'Roll.');
  const running = completions.create({ ...request, model: 'aion-labs/aion-9' });
  await expect(running).rejects.toThrow(/unknown model 'aion-labs\/aion-9'/);
});

it('is not asked again by Instructor after a 524', async () => {
  const { completions, request } = asked('TOOLS', 'Roll slowly. [[sim:ttft=4000]]', 1);
  await expect(completions.create(request)).rejects.toThrow(/524/);
  expect(simulator.requests.filter(({ text }) => text.includes('Roll slowly.'))).toHaveLength(1);
});
