import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { defaultModels } from '../../src/config/example-models.ts';
import { aliases, defineStage, reasoningSplit, validation } from '../../src/index.ts';
import type { Outcome } from '../../src/plugin.ts';
import { chainOf } from '../support/chain-app.ts';
import { startApp } from '../support/express-app.ts';
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
const annKey = 'sk-ann-0123456789';
const [example] = defaultModels('upstream');
const embedder = { ...example!, id: 'acme/embed', operations: ['embeddings'] };

let outcomes: Outcome[] = [];
let upstream: ScriptedUpstream;
let url: string;
let plainUrl: string;

const watching = defineStage({
  name: 'watching',
  create: () => ({ onSettled: (_, outcome) => void outcomes.push(outcome) }),
});

beforeAll(async () => {
  upstream = await startScriptedUpstream();
  const config = {
    models: [...defaultModels('upstream'), embedder],
    aliases: { 'text-embedding-3-small': embedder.id, 'gpt-4o': mini, 'claude-*': large, [large]: mini },
    accounts: {
      tester: { plan: 'small', keys: [{ value: clientKey }] },
      ann: { aliases: { 'gpt-*': large }, keys: [{ value: annKey }] },
    },
    plans: { small: { models: { [mini]: { requests_per_minute: 10 } } } },
    messages: { enabled: true },
    list_aliases: true,
  };
  const stages = () => ['error-envelope', 'auth', 'validation', 'rate-limit', watching()] as const;
  const urlOf = async (sections: object) =>
    (await mounted(upstream, undefined, sections, { stages: [...stages()] })).url;
  url = await urlOf(config);
  plainUrl = await urlOf({ ...config, list_aliases: false, aliases_in_replies: false });
});
beforeEach(() => {
  outcomes = [];
  upstream.reply(whole(200, completion('Hello.')));
});
afterAll(async () => {
  await closeMounted();
  await upstream.close();
});

const post = (path: string, body: object, key = clientKey, base = url) =>
  fetch(`${base}/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

const bodies = {
  'chat/completions': ask('Hello?'),
  responses: { input: 'Hello?' },
  messages: { messages: [{ role: 'user', content: 'Hello?' }], max_tokens: 100 },
};

describe.each(Object.entries(bodies))('an alias on %s', (path, body) => {
  it('is asked, limited, billed and recorded as its model, and answered by its name', async () => {
    const reply = await post(path, { ...body, model: 'gpt-4o' });
    expect(reply.status).toBe(200);
    expect(reply.headers.get('x-ratelimit-limit-requests')).toBe('10');
    expect(await reply.json()).toMatchObject({ model: 'gpt-4o' });
    expect(upstream.requests.at(-1)!.body.model).toBe('aion-3.5-mini');
    expect(outcomes).toMatchObject([{ model: mini, requested_model: 'gpt-4o', status: 200 }]);
  });

  it('is answered by its name in every event of a stream', async () => {
    const parts = events(said('Hello.'), finished(), used(1000, 1000), '[DONE]');
    upstream.reply(Buffer.concat([Buffer.from(streamHead()), chunk(parts), Buffer.from(lastChunk)]));
    const text = await (await post(path, { ...body, model: 'claude-3-opus', stream: true })).text();
    const named = [...text.matchAll(/"model":"([^"]+)"/g)].map(([, name]) => name);
    expect(new Set(named)).toEqual(new Set(['claude-3-opus']));
    expect(eventsOf(text).length).toBeGreaterThan(2);
    expect(outcomes).toMatchObject([{ model: large, requested_model: 'claude-3-opus' }]);
  });

  it('is answered by the id of its model with aliases_in_replies: false', async () => {
    const reply = await post(path, { ...body, model: 'gpt-4o' }, clientKey, plainUrl);
    expect(await reply.json()).toMatchObject({ model: mini });
  });
});

it('counts tokens of a request that names an alias', async () => {
  const reply = await post('messages/count_tokens', {
    ...bodies.messages,
    model: 'claude-x',
    max_tokens: undefined,
  });
  expect([reply.status, Object.keys((await reply.json()) as object)]).toEqual([200, ['input_tokens']]);
});

it('takes an alias of the account first, and a name of the catalog before every alias', async () => {
  await post('chat/completions', { ...ask('Hello?'), model: 'gpt-4o' }, annKey);
  await post('chat/completions', { ...ask('Hello?'), model: large });
  expect(outcomes.map(({ model, requested_model }) => [model, requested_model])).toEqual([
    [large, 'gpt-4o'],
    [large, undefined],
  ]);
});

it('refuses a name that is neither, with the account ignored that has an alias for it', async () => {
  const reply = await post('chat/completions', { ...ask('Hello?'), model: 'gpt-5' });
  expect(reply.status).toBe(400);
  expect(await reply.text()).toContain("unknown model 'gpt-5'; GET /v1/models lists those available");
});

it('stands for a model of embeddings as well, whose prompts may be token ids', async () => {
  const data = [{ object: 'embedding', index: 0, embedding: [0.5, 1] }];
  upstream.reply(whole(200, { object: 'list', data, usage: { prompt_tokens: 3, total_tokens: 3 } }));
  const reply = await post('embeddings', { model: 'text-embedding-3-small', input: [1, 2, 3] });
  expect([reply.status, await reply.json()]).toMatchObject([200, { model: 'text-embedding-3-small' }]);
  expect(outcomes).toMatchObject([{ model: embedder.id, requested_model: 'text-embedding-3-small' }]);
});

it('is known to a chain in front of a handler, which is asked for the model', async () => {
  const asked: unknown[] = [];
  const chain = chainOf([aliases({ names: { 'gpt-*': mini } }), validation(), reasoningSplit()], {
    open: true,
  });
  const app = await startApp(app => {
    app.use(chain);
    app.post('/v1/chat/completions', async (request, response) => {
      asked.push(((await json(request)) as { model: string }).model);
      response.json(completion('Hello.'));
    });
  });
  const reply = await post('chat/completions', { ...ask('Hello?'), model: 'gpt-4o' }, '', app.url);
  expect([await reply.json(), asked]).toMatchObject([{ model: 'gpt-4o' }, [mini]]);
});

describe('the catalog', () => {
  const idsAt = async (base: string) => {
    const { data } = (await (await fetch(`${base}/v1/models`)).json()) as { data: { id: string }[] };
    return data.map(({ id }) => id);
  };
  const single = (base: string, id: string) => fetch(`${base}/v1/models/${id}`);

  it('lists exact aliases with list_aliases, behind the models, and answers for one as for its model', async () => {
    const own = await idsAt(plainUrl);
    expect(own).not.toContain('gpt-4o');
    expect(await idsAt(url)).toEqual([...own, 'text-embedding-3-small', 'gpt-4o']);
    const model = (await (await single(url, large)).json()) as object;
    expect(await (await single(url, 'claude-9')).json()).toEqual({ ...model, id: 'claude-9' });
    expect((await single(plainUrl, 'claude-9')).status).toBe(404);
    expect((await single(url, 'gpt-5')).status).toBe(404);
  });
});
