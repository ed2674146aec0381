import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { assembledReply } from '../support/provider-fixtures.ts';

let simulator: Simulator;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  simulator = await startSimulator({ require_signatures: 'demanded', cached_tokens: 0.5 });
  gateway = await startGateway({ upstream: simulator.url, adapter: 'anthropic' });
});

afterAll(async () => {
  await gateway?.close();
  await simulator?.close();
});

const tools = [{ type: 'function', function: { name: 'bash', parameters: { type: 'object' } } }];
const steps = ['ls', 'pwd'].map(command => `[[sim:step tool=bash args={"command":"${command}"}]]`).join(' ');

it.each([true, false])(
  'sends a server that demands signatures every one of a tool loop, streamed: %s',
  async stream => {
    const messages: object[] = [{ role: 'user', content: `Look, streamed: ${stream}. ${steps}` }];
    const body = { model: 'aion-labs/aion-3.5', tools, messages };
    const finishes: string[] = [];
    for (let turn = 0; turn < 3; turn++) {
      const [choice] = stream ? await streamed(body) : await whole(body);
      const { message, finish_reason } = choice!;
      expect(message.reasoning).toMatch(/^The user mentions/);
      finishes.push(finish_reason);
      // A client of chat completions sends neither reasoning nor signatures.
      messages.push({ role: 'assistant', content: message.content, tool_calls: message.tool_calls });
      for (const { id } of message.tool_calls ?? [])
        messages.push({ role: 'tool', tool_call_id: id, content: 'Some files.' });
    }
    expect(finishes).toEqual(['tool_calls', 'tool_calls', 'stop']);
    expect(JSON.stringify(simulator.requests.at(-1)?.body).match(/"signature":"/g)).toHaveLength(2);
  },
);

async function streamed(body: object) {
  const { events } = await gateway.stream(body);
  return assembledReply(events.slice(0, -1).map(({ json }) => ({ choices: [...json.choices!] }))).choices;
}

async function whole(body: object) {
  return ((await (await gateway.post(body)).json()) as ReturnType<typeof assembledReply>).choices;
}
