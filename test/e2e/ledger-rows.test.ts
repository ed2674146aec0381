import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AttemptRow } from '../../src/gateway/settlement/ledger-entry.ts';
import type { ListedRow } from '../../src/records/ledger-records.ts';
import type { RefusalSum, UsageSum } from '../../src/records/usage-records.ts';
import { ask, clientKey, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { completion } from '../support/hostile-setting.ts';
import { RawConnection } from '../support/raw-client.ts';
import { type RecordsPlace, recordsPlace, runCommand } from '../support/records-place.ts';
import {
  chunk,
  events,
  pieces,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamHead,
  whole,
} from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

let upstream: ScriptedUpstream;
let place: RecordsPlace;
let gateway: GatewayUnderTest;
let rows: readonly ListedRow[];
const attempts = new Map<string, readonly AttemptRow[]>();
let refusals: readonly RefusalSum[];
let usage: readonly UsageSum[];
let storedKey: { key: string; id: string };

const model = 'aion-labs/aion-3.5';
const rowOf = (request_id: string): ListedRow => rows.find(row => row.request_id === request_id)!;
const post = async (request_id: string, body: unknown, headers: Readonly<Record<string, string>> = {}) => {
  const response = await gateway.post(body, { headers: { 'x-request-id': request_id, ...headers } });
  await response.arrayBuffer();
  return response.status;
};

/** Everything is asked first; the ledger is read when the gateway has been closed. */
beforeAll(async () => {
  upstream = await startScriptedUpstream(whole(200, completion('Hello.')));
  place = await recordsPlace();
  const { key, record } = await place.look(store =>
    store.keys.create(
      { account: 'tester', name: '', expires_ms: null },
      { actor: 'test', at_ms: Date.now() },
    ),
  );
  storedKey = { key, id: record.id };
  gateway = await startGateway({
    upstream,
    config: { stores: place.stores, passthrough: [{ path: '/v1/embeddings', provider: 'upstream' }] },
  });

  expect(await post('plain', ask('Hello'))).toBe(200);
  expect(await post('stored', ask('Hello'), { authorization: `Bearer ${storedKey.key}` })).toBe(200);
  expect(await post('twice', ask('Hello'))).toBe(200);
  expect(await post('twice', ask('Hello'))).toBe(200);
  expect(await post('refused', ask('Hello', { temperature: 9 }))).toBe(400);
  expect(await post('unknown', { ...ask('Hello'), model: 'no/such' })).toBe(400);
  expect(await post('no-key', ask('Hello'), { authorization: 'Bearer sk-nobody' })).toBe(401);
  const told = `The engine\0 at http://10.0.0.7:8000 is full.${' Try later.'.repeat(60)}`;
  upstream.replyOnce(whole(500, { error: { message: told } }));
  expect(await post('failed', ask('Hello'))).toBe(502);
  const passed = { path: '/v1/embeddings', headers: { 'x-request-id': 'passed' } };
  await (await gateway.post({ model, input: 'Hello' }, passed)).arrayBuffer();
  const unpriced = { ...passed, headers: { 'x-request-id': 'unpriced' } };
  await (await gateway.post({ input: 'Hello' }, unpriced)).arrayBuffer();
  expect((await fetch(`${gateway.url}/v1/models`, { headers: { 'x-request-id': 'models' } })).status).toBe(
    200,
  );
  await leave('left');
  await gateway.close();
  await place.look(async store => {
    rows = await store.ledger.list({ limit: 100 });
    refusals = await store.usage.refusals({ limit: 100 });
    usage = await store.usage.sum({ account: 'tester', by: [] });
    for (const { request_id } of rows)
      attempts.set(request_id, (await store.ledger.find(request_id))[0]!.attempts_made);
  });
});
afterAll(async () => {
  await upstream.close();
  await place.remove();
});

/** A stream whose client leaves after its first words. */
async function leave(request_id: string): Promise<void> {
  const words = {
    choices: [{ index: 0, delta: { content: 'Some words that were said ' }, finish_reason: null }],
  };
  upstream.replyOnce(pieces([streamHead(), ...Array(2000).fill(chunk(events(words)))], 10));
  const body = JSON.stringify(ask('Hello', { stream: true }));
  const connection = new RawConnection(gateway.url);
  connection.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: g\r\nauthorization: Bearer ${clientKey}\r\nx-request-id: ${request_id}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await until(() => connection.text.includes('Some words'));
  connection.destroy();
  await until(() => gateway.gateway.inFlight === 0);
}

describe('the ledger', () => {
  it('records the usage, the cost, the provider and the duration of an exchange', () => {
    const { usage } = completion('Hello.') as { usage: { prompt_tokens: number; completion_tokens: number } };
    const { prompt_tokens, completion_tokens } = usage;
    const row = rowOf('plain');
    expect(row).toMatchObject({
      account: 'tester',
      key_id: null,
      model,
      provider: 'upstream',
      endpoint: 'chat.completions',
      status: 200,
      error_type: null,
      end_reason: 'completed',
      attempts: 1,
      prompt_tokens,
      completion_tokens,
      estimated: false,
    });
    expect(Number(row.cost_usd)).toBeCloseTo((3 * prompt_tokens + 6 * completion_tokens) / 1e6, 12);
    expect(Math.abs(row.started_ms - Date.now())).toBeLessThan(60_000);
    expect(row.duration_ms).toBeGreaterThanOrEqual(0);
  });

  it('records which stored key was used without anything that would let it be used', () => {
    expect(rowOf('stored')).toMatchObject({ account: 'tester', key_id: storedKey.id });
    expect(JSON.stringify(rows)).not.toContain(storedKey.key.slice(10, 40));
  });

  it('keeps two exchanges with the same request id apart', () => {
    const twice = rows.filter(({ request_id }) => request_id === 'twice');
    expect(twice).toHaveLength(2);
    expect(twice[0]!.id).not.toBe(twice[1]!.id);
  });

  it('counts requests refused before the upstream call once, and keeps a few as rows', async () => {
    const refused = { attempts: 0, status: 400, end_reason: 'refused', refused_by: null, cost_usd: '0' };
    expect(rowOf('refused')).toMatchObject({ ...refused, error_type: 'invalid_request_error' });
    expect(rowOf('unknown')).toMatchObject({ ...refused, error_type: 'invalid_request_error' });
    expect(rowOf('refused')).toMatchObject({
      error_message: expect.stringMatching(/^temperature: .*2/),
      error_param: 'temperature',
      requested_model: null,
    });
    expect(rowOf('unknown')).toMatchObject({ error_param: 'model', model: null, requested_model: 'no/such' });
    expect(rowOf('plain')).toMatchObject({ error_message: null, error_param: null, requested_model: null });
    expect(refusals).toEqual([
      {
        day: expect.any(String),
        account: 'tester',
        key_id: '',
        model: '',
        status: 400,
        error_type: 'invalid_request_error',
        end_reason: 'refused',
        requests: 2,
      },
    ]);
    expect(usage).toMatchObject([{ requests: 10, failed_requests: 3 }]);
  });

  it('records failures of the upstream at no cost', () => {
    expect(rowOf('failed')).toMatchObject({
      prompt_tokens: 0,
      completion_tokens: 0,
      cost_usd: '0',
      estimated: false,
      status: 502,
      error_type: 'provider_error',
      end_reason: 'upstream_failed',
    });
  });

  it('records the usage that the reply to a passed-through request reports', () => {
    const told = { prompt_tokens: 7, completion_tokens: 3, estimated: false, endpoint: 'passthrough' };
    const expected = { account: 'tester', status: 200, ...told };
    expect(rowOf('passed')).toMatchObject({ ...expected, model, cost_usd: '0.000039' });
    expect(rowOf('unpriced')).toMatchObject({ ...expected, model: null, cost_usd: '0' });
  });

  it('records what was sent before the client left as an estimate', () => {
    const row = rowOf('left');
    expect(row).toMatchObject({ end_reason: 'client_gone', estimated: true, model });
    expect(row.completion_tokens).toBeGreaterThan(0);
    expect(row.first_token_ms).not.toBeNull();
  });

  it('records every attempt: who was asked, when, and how it ended', () => {
    const [attempt] = attempts.get('plain')!;
    expect(attempt).toMatchObject({
      provider: 'upstream',
      model: 'aion-3.5',
      wait_ms: 0,
      first_token_ms: null,
      status: 200,
      outcome: 'completed',
      kind: null,
    });
    expect(attempt!.offset_ms + attempt!.duration_ms!).toBeLessThanOrEqual(rowOf('plain').duration_ms + 1);
    expect(attempts.get('failed')).toMatchObject([{ status: 500, outcome: 'failed', kind: 'status' }]);
    const said = attempts.get('failed')![0]!.error_message!;
    expect(said).toMatch(/^upstream status 500: The engine\ufffd at (?!http)\S+ is full\.( Try later\.)+/);
    expect(said).toHaveLength(500);
    expect(attempt!.error_message).toBeNull();
    expect(attempts.get('passed')).toMatchObject([
      { provider: 'upstream', model: null, outcome: 'completed' },
    ]);
    const [left] = attempts.get('left')!;
    expect(left).toMatchObject({ status: 200, outcome: 'aborted', kind: null });
    expect(left!.first_token_ms).toBeLessThanOrEqual(left!.duration_ms!);
    expect([...attempts].filter(([, { length }]) => length !== 1)).toEqual([
      [expect.stringMatching(/^(refused|unknown)$/), []],
      [expect.stringMatching(/^(refused|unknown)$/), []],
    ]);
  });

  it('finds an exchange by its request id, with all of its attempts', async () => {
    const config = { providers: {}, models: [], stores: place.stores } as never;
    const found = await runCommand(config, 'ledger', 'find', 'failed');
    const [exchange] = JSON.parse(found.stdout);
    expect(exchange).toEqual({
      ...rowOf('failed'),
      attempts_made: attempts.get('failed'),
      stages: expect.arrayContaining([
        { stage: 'auth', hook: 'onHeaders', offset_ms: expect.any(Number), own_ms: expect.any(Number) },
      ]),
    });
    expect(await runCommand(config, 'ledger', 'find', 'no-key')).toMatchObject({
      code: 1,
      stdout: '',
      stderr:
        "the ledger has no exchange with the request id 'no-key'; of refused requests it keeps only some, the log has all\n",
    });
  });

  it('records nothing for requests without an account', () => {
    expect(rowOf('no-key')).toBeUndefined();
    expect(rowOf('models')).toBeUndefined();
    expect(rows).toHaveLength(10);
  });
});
