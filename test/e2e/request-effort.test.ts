import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { ask, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';

let simulator: Simulator;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  simulator = await startSimulator({ recorded_requests: 1 });
  gateway = await startGateway({ upstream: simulator });
});

afterAll(async () => {
  await gateway?.close();
  await simulator?.close();
});

/** What reached the upstream of the request's effort. */
async function sentFor(model: string, more: object): Promise<unknown> {
  const reply = await gateway.post(ask('Hello', { model: `aion-labs/${model}`, ...more }));
  const text = await reply.text();
  if (reply.status !== 200) throw new Error(`${reply.status} ${text}`);
  const body = (simulator.requests.at(-1)?.body ?? {}) as Record<string, unknown>;
  const { reasoning_effort, chat_template_kwargs } = body;
  return { reasoning_effort, chat_template_kwargs };
}

const effort = (level: string) => ({
  reasoning_effort: level,
  chat_template_kwargs: { enable_thinking: level !== 'none' },
});
const nothing = { reasoning_effort: undefined, chat_template_kwargs: undefined };

/** Each family of models with its levels and its default. */
const groups: [string, string[], string][] = [
  ['aion-3.5', ['low', 'high', 'max'], 'high'],
  ['aion-3.5-mini', ['low', 'high', 'max'], 'high'],
  ['aion-3.0', ['none', 'low', 'medium', 'high', 'max'], 'medium'],
  ['aion-3.0-mini', ['none', 'low', 'medium', 'high', 'max'], 'medium'],
  ['aion-2.0', ['none', 'low', 'medium', 'high', 'max'], 'medium'],
];
const words = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/** What no model accepts: the match is exact. */
const wrong = ['', 'LOW', 'High', ' low', 'high ', 'auto', '__proto__', 'x'.repeat(100)];
const wrongKinds = [5, 0, true, false, [], ['low'], {}];

async function refusalOf(model: string, reasoning_effort: unknown): Promise<string> {
  const { requests } = simulator.stats;
  const reply = await gateway.post(ask('Hello', { model: `aion-labs/${model}`, reasoning_effort }));
  expect(reply.status).toBe(400);
  expect(simulator.stats.requests).toBe(requests);
  const { error } = (await reply.json()) as { error: { message: string; type: string } };
  expect(error.type).toBe('invalid_request_error');
  return error.message;
}

describe.each(groups)('the reasoning effort of %s', (model, levels, initial) => {
  it.each(levels)('accepts %s and sends it upstream', async level => {
    expect(await sentFor(model, { reasoning_effort: level })).toEqual(effort(level));
  });

  it.each([{}, { reasoning_effort: null }])('is sent explicitly as the default for %p', async more => {
    expect(await sentFor(model, more)).toEqual(effort(initial));
  });

  it.each(words.filter(word => !levels.includes(word)))(
    'refuses %s and lists the accepted levels',
    async word => {
      expect(await refusalOf(model, word)).toBe(
        `reasoning_effort: '${word}' is not accepted by aion-labs/${model}; use one of: ${levels.join(', ')}.`,
      );
    },
  );

  it.each(wrong)('refuses %p', async word => {
    const message = await refusalOf(model, word);
    expect(message).toMatch(/^reasoning_effort: /);
    expect(message).toContain(levels.join(', '));
    expect(message.length).toBeLessThan(300);
  });

  it.each(wrongKinds)('refuses %p, which is not a string', async value => {
    expect(await refusalOf(model, value)).toMatch(/^reasoning_effort: must be a string/);
  });
});

describe('the reasoning effort of aion-rp-llama-3.1-8b, which has no levels', () => {
  const model = 'aion-rp-llama-3.1-8b';

  it.each([{}, { reasoning_effort: null }, { reasoning_effort: 'medium' }])(
    'is not sent for %p',
    async more => {
      expect(await sentFor(model, more)).toEqual(nothing);
    },
  );

  it.each([...words.filter(word => word !== 'medium'), 'Medium', ...wrong])('refuses %p', async word => {
    const message = await refusalOf(model, word);
    expect(message).toMatch(/^reasoning_effort: /);
    expect(message).toContain('does not support reasoning_effort');
  });

  it.each(wrongKinds)('refuses %p, which is not a string', async value => {
    expect(await refusalOf(model, value)).toMatch(/^reasoning_effort: must be a string/);
  });
});

describe('an upstream with another adapter', () => {
  it("receives OpenAI's effort levels, or those in the model's configuration", async () => {
    const other = await startGateway({
      upstream: simulator,
      adapter: 'openai',
      model: { effort_map: {} },
    });
    const reply = await other.post(ask('Hello', { reasoning_effort: 'max' }));
    await reply.text().finally(other.close);
    expect(simulator.requests.at(-1)?.body).toMatchObject({ reasoning_effort: 'max' });
    expect(simulator.requests.at(-1)?.body).not.toHaveProperty('chat_template_kwargs');
  });
});
