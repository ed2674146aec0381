import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { defineStage } from '../../src/index.ts';
import type { Outcome } from '../../src/plugin.ts';
import { ask, clientKey, eventsOf } from '../support/gateway-under-test.ts';
import { completion, finished, said, used } from '../support/hostile-setting.ts';
import { closeMounted, mounted } from '../support/mounted-gateway.ts';
import {
  chunk,
  events,
  lastChunk,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamHead,
  whole,
} from '../support/scripted-upstream.ts';

const large = 'aion-labs/aion-3.5';
const mini = 'aion-labs/aion-3.5-mini';

let outcomes: Outcome[] = [];
let upstream: ScriptedUpstream;
let chat: string;

/** Names the model `to` in place of `from`, at once or after a turn. */
const renaming = (from: string, to: string, isLate: boolean) =>
  defineStage({
    name: 'renaming',
    create: () => ({
      onRequest(exchange) {
        const rename = () => {
          if (exchange.request.model === from) exchange.request.model = to;
        };
        return isLate ? Promise.resolve().then(rename) : rename();
      },
      onSettled: (_, outcome) => void outcomes.push(outcome),
    }),
  })();

const plans = { small: { models: { [mini]: { requests_per_minute: 2 } } } };
const limited = {
  plans,
  accounts: { tester: { plan: 'small', keys: [{ value: clientKey }] } },
  messages: { enabled: true },
};

async function start(from: string, to: string, order: 'before' | 'behind', isLate = false) {
  const stage = renaming(from, to, isLate);
  const stages = order === 'before' ? [stage, 'validation'] : ['validation', stage];
  const chain = ['error-envelope', 'auth', ...stages, 'rate-limit'] as const;
  ({ chat } = await mounted(upstream, undefined, limited, { stages: [...chain] }));
}

const post = (more: object) =>
  fetch(chat, {
    method: 'POST',
    headers: { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(ask('Hello?', more)),
  });

beforeEach(async () => {
  outcomes = [];
  upstream = await startScriptedUpstream(whole(200, completion('Hello.')));
});
afterEach(async () => {
  await closeMounted();
  await upstream.close();
});

describe.each([
  ['an alias before validation, which knows the new name only', 'gpt-4o', 'before', false],
  ['a downgrade behind validation', large, 'behind', false],
  ['a promise that renames', 'gpt-4o', 'before', true],
] as const)('a model that a stage has named: %s', (_, from, order, isLate) => {
  it('is asked, billed, limited and answered, whole and streamed', async () => {
    await start(from, mini, order, isLate);
    const reply = await post({ model: from });
    expect(await reply.json()).toMatchObject({ model: mini, choices: [{ finish_reason: 'stop' }] });
    upstream.reply(
      Buffer.concat([
        Buffer.from(streamHead()),
        chunk(events(said('Hello.'), finished(), used(1000, 1000), '[DONE]')),
        Buffer.from(lastChunk),
      ]),
    );
    const stream = await post({ model: from, stream: true });
    const chunks = eventsOf(await stream.text()).slice(0, -1);
    expect(new Set(chunks.map(({ json }) => json.model))).toEqual(new Set([mini]));
    expect((await post({ model: from })).status).toBe(429);
    expect(upstream.requests.map(({ body }) => body.model)).toEqual(['aion-3.5-mini', 'aion-3.5-mini']);
    expect(outcomes.map(({ model, status }) => [model, status])).toEqual([
      [mini, 200],
      [mini, 200],
      [mini, 429],
    ]);
    // A thousand tokens each way at the prices of the smaller model.
    expect(outcomes[1]!.cost_usd).toBe('0.0021');
  });
});

it('is refused by validation where the catalog has no model of the new name', async () => {
  await start(large, 'acme/none', 'before');
  const reply = await post({});
  expect(reply.status).toBe(400);
  expect(await reply.text()).toContain("unknown model 'acme/none'");
  expect(upstream.requests).toHaveLength(0);
});

describe('the thinking that a Messages client asks for', () => {
  const thinking = { type: 'enabled', budget_tokens: 24_000 };
  const think = async (model: string) => {
    const { status, headers } = await fetch(chat.replace('chat/completions', 'messages'), {
      method: 'POST',
      headers: { 'x-api-key': clientKey, 'content-type': 'application/json' },
      body: JSON.stringify(ask('Hello?', { model, max_tokens: 30_000, thinking })),
    });
    return [status, upstream.requests.at(-1)?.body.reasoning_effort, headers.get('x-ignored-parameters')];
  };
  const roleplay = 'aion-labs/aion-rp-llama-3.1-8b';

  it('is asked of the model that a stage has named for an alias', async () => {
    await start('claude-sonnet', mini, 'before');
    expect(await think('claude-sonnet')).toEqual([200, 'high', null]);
  });

  it('is named as ignored by a model that cannot think, as if the client had named that one', async () => {
    await start(large, roleplay, 'before');
    expect(await think(large)).toEqual([200, undefined, 'thinking.budget_tokens']);
    expect(await think(roleplay)).toEqual([200, undefined, 'thinking.budget_tokens']);
  });
});
