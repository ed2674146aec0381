import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI, { type APIError } from 'openai';
import pg from 'pg';
import { clientKey } from '../support/gateway-under-test.ts';
import { completion, delta, finished, used } from '../support/hostile-setting.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import {
  events,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamed,
  whole,
} from '../support/scripted-upstream.ts';
import { endServed, type SidecarHere, serveHere } from '../support/sidecar-here.ts';
import { sidecarConfig } from '../support/sidecar-process.ts';

const model = 'aion-labs/aion-3.5';
const otherKey = 'sk-another-account';
let upstream: ScriptedUpstream;
let postgres: PostgresServer;
let sidecars: SidecarHere[];

beforeAll(async () => {
  postgres = await startPostgres();
  upstream = await startScriptedUpstream((socket, { body }) => {
    const text = `answer ${(body.messages as unknown[]).length}`;
    const last = used(5, 2);
    const stream = streamed(events(delta({ content: text }), finished(), last, '[DONE]'));
    socket.write(body.stream ? stream : whole(200, completion(text)));
  });
  const config = sidecarConfig(upstream.url, {
    stores: { records: await postgres.createDatabase('responses') },
    accounts: { tester: { keys: [{ value: clientKey }] }, other: { keys: [{ value: otherKey }] } },
    responses: { store: { ttl_days: 1, keys: ['a secret of more than thirty-two characters'] } },
  });
  sidecars = [await serveHere(config), await serveHere(config)];
}, 30_000);
afterAll(async () => {
  await endServed();
  await upstream?.close();
  await postgres?.stop();
});

const client = (at = 0, apiKey = clientKey) =>
  new OpenAI({ apiKey, baseURL: `${sidecars[at]!.url}/v1`, maxRetries: 0 });

const failure = (request: Promise<unknown>): Promise<APIError> =>
  request.then(
    () => Promise.reject(new Error('it was answered')),
    thrown => thrown,
  );

interface Sent {
  readonly role: string;
  readonly content: unknown;
}
const sentUpstream = () =>
  (upstream.last.body.messages as Sent[]).map(({ role, content }) => `${role}: ${content}`);

describe('a gateway that stores responses', () => {
  it('continues a chain at another instance, streamed or not', async () => {
    const first = await client().responses.create({ model, input: 'one', instructions: 'Be brief.' });
    expect(first).toMatchObject({ store: true, previous_response_id: null });
    const stream = await client(1).responses.create({
      model,
      input: 'two',
      previous_response_id: first.id,
      stream: true,
    });
    let second: OpenAI.Responses.Response | undefined;
    for await (const event of stream) if (event.type === 'response.completed') second = event.response;
    expect(second).toMatchObject({ store: true, previous_response_id: first.id });
    const third = await client().responses.create({
      model,
      input: 'three',
      previous_response_id: second!.id,
    });
    expect(third.output_text).toBe('answer 5');
    expect(sentUpstream()).toEqual([
      'user: one',
      'assistant: answer 2',
      'user: two',
      'assistant: answer 3',
      'user: three',
    ]);
    expect(await client(1).responses.retrieve(third.id)).toEqual(third);
    const items: string[] = [];
    for await (const item of client(1).responses.inputItems.list(third.id, { limit: 2, order: 'asc' }))
      if (item.type === 'message') items.push(item.content.map(part => 'text' in part && part.text).join());
    expect(items).toEqual(['one', 'answer 2', 'two', 'answer 3', 'three']);
  });

  it('resolves references to items', async () => {
    const first = await client().responses.create({ model, input: 'one', reasoning: {} });
    const references = first.output.map(({ id }) => ({ type: 'item_reference' as const, id: id! }));
    await client(1).responses.create({ model, input: [...references, { role: 'user', content: 'next' }] });
    expect(sentUpstream()).toEqual(['assistant: answer 1', 'user: next']);
    const unknown = await failure(
      client().responses.create({ model, input: [{ type: 'item_reference', id: 'msg_0' }] }),
    );
    expect(unknown).toMatchObject({
      status: 400,
      error: { message: expect.stringContaining('input[0].id') },
    });
  });

  it('keeps the items of a conversation in order, whichever instances add to it', async () => {
    const items = [{ type: 'message' as const, role: 'user' as const, content: 'before' }];
    const { id } = await client().conversations.create({ items, metadata: { topic: 'rivers' } });
    const say = (at: number, input: string) =>
      client(at).responses.create({ model, input, conversation: id });
    expect(await say(1, 'one')).toMatchObject({ conversation: { id }, previous_response_id: null });
    expect(sentUpstream()).toEqual(['user: before', 'user: one']);
    await Promise.all([say(0, 'two'), say(1, 'two'), say(0, 'two')]);
    await client(1).conversations.items.create(id, { items });
    await say(0, 'three');
    // Whichever saw which of the others, all of them are there.
    const turn = ['user: two', expect.stringMatching(/^assistant: answer [468]$/)];
    expect(sentUpstream().slice(3, -2)).toEqual([...turn, ...turn, ...turn]);
    expect(sentUpstream().slice(-2)).toEqual(['user: before', 'user: three']);
    const listed: unknown[] = [];
    for await (const item of client(1).conversations.items.list(id, { order: 'asc', limit: 3 }))
      listed.push('role' in item && item.role);
    expect(listed).toHaveLength(12);
    expect(await client(1).conversations.retrieve(id)).toMatchObject({ id, metadata: { topic: 'rivers' } });
    const other = client(0, otherKey);
    expect(await failure(other.conversations.retrieve(id))).toMatchObject({ status: 404 });
    const asOther = other.responses.create({ model, input: 'mine', conversation: id });
    expect(await failure(asOther)).toMatchObject({ status: 404 });
    await client().conversations.delete(id);
    expect(await failure(say(1, 'four'))).toMatchObject({ status: 404 });
  });

  it('compacts a conversation into an item that its account alone can send back', async () => {
    const { id } = await client().responses.create({ model, input: 'one' });
    const compacted = await client(1).responses.compact({ model, input: 'two', previous_response_id: id });
    expect(sentUpstream().slice(0, 3)).toEqual(['user: one', 'assistant: answer 1', 'user: two']);
    expect(sentUpstream().at(-1)).toContain('user: Summarize');
    expect(compacted).toMatchObject({ object: 'response.compaction', usage: { input_tokens: 7 } });
    const kinds = compacted.output.map(item => (item.type === 'message' ? item.role : item.type));
    expect(kinds).toEqual(['user', 'user', 'compaction']);
    expect(JSON.stringify(compacted)).not.toContain('answer');
    const input = [...compacted.output, { role: 'user', content: 'go on' }] as OpenAI.Responses.ResponseInput;
    const next = await client().responses.create({ model, input });
    const summary = expect.stringMatching(/^user: Summary of the conversation.*answer 4$/s);
    expect(sentUpstream()).toEqual(['user: one', 'user: two', summary, 'user: go on']);
    await client(1).responses.create({ model, input: 'more', previous_response_id: next.id });
    expect(sentUpstream()[2]).toEqual(summary);
    await client(0, otherKey).responses.create({ model, input });
    expect(sentUpstream().join()).not.toContain('answer 4');
  });

  it('shows nobody else what an account has stored, and deletes it on request', async () => {
    const { id } = await client().responses.create({ model, input: 'a secret of the tester' });
    const other = client(1, otherKey);
    for (const request of [
      other.responses.retrieve(id),
      other.responses.inputItems.list(id),
      other.responses.delete(id),
    ])
      expect(await failure(request)).toMatchObject({ status: 404 });
    const notFound = { status: 400, code: 'previous_response_not_found' };
    const continued = { model, input: 'more', previous_response_id: id };
    expect(await failure(other.responses.create(continued))).toMatchObject(notFound);
    await client(1).responses.delete(id);
    expect(await failure(client().responses.retrieve(id))).toMatchObject({ status: 404 });
    expect(await failure(client().responses.create(continued))).toMatchObject(notFound);
  });

  it('stores no text that can be read, and nothing for store: false', async () => {
    const prompt = 'the prompt of a canary';
    const { id } = await client().responses.create({ model, input: prompt });
    const unstored = await client().responses.create({ model, input: prompt, store: false });
    expect(unstored).toMatchObject({ store: false });
    const pool = new pg.Client({ connectionString: postgres.url.replace(/[^/]*$/, 'responses') });
    await pool.connect();
    const { rows } = await pool.query('SELECT * FROM sluice.stored_responses');
    await pool.end();
    const ids = rows.map(row => row.id);
    expect([ids.includes(id), ids.includes(unstored.id)]).toEqual([true, false]);
    expect(JSON.stringify(rows)).not.toContain('canary');
    expect(JSON.stringify(rows)).not.toContain(Buffer.from('canary').toString('base64').slice(0, 7));
    expect(sidecars.map(one => one.output()).join()).not.toContain('canary');
  });

  it('serves what continues nothing while the store is down', async () => {
    const { id } = await client().responses.create({ model, input: 'one' });
    await postgres.kill();
    const reply = await client().responses.create({ model, input: 'two' });
    expect(reply).toMatchObject({ output_text: 'answer 1', store: false });
    expect(sidecars[0]!.output()).toContain('failed to store a response');
    const refused = await failure(
      client().responses.create({ model, input: 'two', previous_response_id: id }),
    );
    expect(refused).toMatchObject({ status: 503, type: 'server_error' });
  });
});
