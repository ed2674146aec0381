import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { type GatewayUnderTest, upstreamKey } from '../support/gateway-under-test.ts';
import { providerNames } from '../support/provider-fixtures.ts';
import {
  gatewayOfAllAdapters,
  loopQuestion,
  modelAt,
  requiredReasoning,
  toolLoops,
} from '../support/tool-loop-setting.ts';

/** Agent loops against servers that refuse a tool's result without the reasoning before its call. */

let simulator: Simulator;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  simulator = await startSimulator();
  gateway = await gatewayOfAllAdapters(simulator.url);
});

afterAll(async () => {
  await gateway?.close();
  await simulator?.close();
});

describe.each(providerNames)('a tool loop at %s', provider => {
  it.each(Object.entries(toolLoops))('goes through two turns and ends, with %s', async (_, loop) => {
    for (const split of [true, false]) {
      const question = loopQuestion(requiredReasoning[provider]);
      const { sides, answer } = await loop(gateway.url, { model: `test/${provider}`, question, split });
      expect(sides).toEqual([20, 6]);
      expect(answer).toContain('It shows seventeen');
    }
  });
});

describe('a tool loop whose provider fails in its middle', () => {
  it.each([
    ['anthropic', 'vllm'],
    ['vllm', 'anthropic'],
    ['openrouter', 'anthropic'],
  ] as const)('goes on from %s to %s', async (first, second) => {
    const leaving = await startSimulator();
    const own = await gatewayOfAllAdapters(simulator.url, {
      providers: {
        first: { adapter: first, base_url: leaving.url, api_key: upstreamKey },
        second: { adapter: second, base_url: simulator.url, api_key: upstreamKey },
      },
      models: [modelAt('test/both', 'first', 'second')],
    });
    try {
      const ask = async (messages: object[]) => {
        const tools = [{ type: 'function', function: { name: 'roll', parameters: { type: 'object' } } }];
        const reply = await own.post({ model: 'test/both', messages, tools });
        const body = (await reply.json()) as { choices: { message: Record<string, unknown> }[] };
        return {
          body,
          message: body.choices?.[0]?.message,
          ignored: reply.headers.get('x-ignored-parameters'),
        };
      };
      const question = { role: 'user', content: loopQuestion(requiredReasoning[second]) };
      const { message: called } = await ask([question]);
      expect(called).toMatchObject({ reasoning: expect.stringContaining('Roll') });
      await leaving.close();
      const [call] = called!.tool_calls as { id: string }[];
      const result = { role: 'tool', tool_call_id: call!.id, content: 'It shows seventeen' };
      const { body, message, ignored } = await ask([question, called!, result]);
      expect(body).not.toHaveProperty('error');
      expect(message).toMatchObject({ tool_calls: [{ function: { arguments: '{"sides":6}' } }] });
      // Unsigned reasoning cannot be sent to Anthropic, which then takes no thinking.
      expect(ignored).toBe(second === 'anthropic' ? 'reasoning_effort, messages.reasoning' : null);
    } finally {
      await own.close();
      await leaving.close();
    }
  });
});
