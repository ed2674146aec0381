import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { defaultModels } from '../../src/config/example-models.ts';
import type { GatewayConfig } from '../../src/config/schema.ts';
import type { AttemptRow, LedgerRow } from '../../src/gateway/settlement/ledger-entry.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { ask } from '../support/gateway-under-test.ts';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../support/otlp-receiver.ts';
import { type RecordsPlace, recordsPlace } from '../support/records-place.ts';
import { type ScriptedUpstream, startScriptedUpstream, whole } from '../support/scripted-upstream.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';
import { until } from '../support/until.ts';

const [server, client] = [2, 3];
const [sound, covered, lost] = ['aion-labs/aion-3.5', 'aion-labs/aion-3.0', 'aion-labs/aion-2.0'];
const keys = { tester: 'sk-tester-0123456789', throttled: 'sk-throttled-0123456789' };

/** The exchange's line of the log. */
interface Line {
  readonly request_id: string;
  readonly trace_id: string;
  readonly msg: string;
  readonly attempts: readonly Readonly<Record<string, unknown>>[];
  readonly [field: string]: unknown;
}

let simulator: Simulator;
let broken: ScriptedUpstream;
let receiver: OtlpReceiver;
let place: RecordsPlace;
let sidecar: SidecarProcess;

const sent: { readonly id: string; readonly status: number; readonly kind: string }[] = [];
let requests = 0;
const lines = new Map<string, Line>();
const rows = new Map<string, LedgerRow>();
let scraped = '';

/** A model whose only provider answers, one that a second provider covers, and one whose only provider fails. */
function configuration(): GatewayConfig {
  const models = defaultModels('sound').flatMap(model => {
    const [upstream] = model.upstreams;
    if (model.id === sound) return [model];
    const failing = { provider: 'broken', model: 'm' };
    if (model.id === covered) return [{ ...model, upstreams: [failing, { ...upstream!, priority: 2 }] }];
    return model.id === lost ? [{ ...model, upstreams: [failing] }] : [];
  });
  return {
    ...sidecarConfig(simulator.url, { log: { level: 'info' } }),
    models,
    providers: {
      sound: { adapter: 'vllm', base_url: simulator.url },
      // It stays in use however often it fails.
      broken: {
        adapter: 'openai',
        base_url: broken.url,
        breaker: { consecutive_failures: 0, failure_ratio: 1 },
      },
    },
    plans: { small: { requests_per_minute: 1 } },
    accounts: {
      tester: { keys: [{ value: keys.tester }] },
      throttled: { keys: [{ value: keys.throttled }], plan: 'small' },
    },
    stores: place.stores,
  } as unknown as GatewayConfig;
}

/** Sends one request and reads its reply, or the beginning of it where the client `leaves`. */
async function send(
  kind: string,
  path: string,
  body: object,
  key = keys.tester,
  leaves = false,
): Promise<void> {
  const id = `${kind}-${++requests}`;
  const leaving = new AbortController();
  const response = await fetch(`${sidecar.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-request-id': id },
    body: JSON.stringify(body),
    signal: leaving.signal,
  });
  sent.push({ id, status: response.status, kind });
  if (!leaves) return void (await response.text());
  await response.body!.getReader().read();
  leaving.abort();
}

const chat = (kind: string, model: string, stream: boolean, content = 'Why do rivers bend?') =>
  send(kind, '/v1/chat/completions', { ...ask(content), model, stream });

const times = (count: number, sends: () => Promise<void>) =>
  Promise.all(Array.from({ length: count }, sends));

async function sendSixty(): Promise<void> {
  const path = '/v1/chat/completions';
  for (const stream of [true, false]) {
    await times(8, () => chat('plain', sound, stream));
    await times(6, () => chat('covered', covered, stream));
    await times(4, () => chat('lost', lost, stream));
    await times(2, () => chat('refused-by-server', sound, stream, 'Hi [[sim:status=400]]'));
    await times(3, () => send('responses', '/v1/responses', { model: sound, input: 'Why?', stream }));
  }
  await times(3, () => chat('broken-off', sound, true, 'Hi [[sim:reset=4]]'));
  await times(3, () => send('left', path, { ...ask('Hi [[sim:tps=20]]'), stream: true }, keys.tester, true));
  for (const wrong of [{ temperature: 9 }, { n: 99 }, { max_tokens: 0 }, { model: 'vendor/made-up' }])
    await send('invalid', path, { ...ask('Hi'), ...wrong });
  await times(2, () => send('no-key', path, ask('Hi'), 'sk-nobody'));
  await times(2, () => send('throttled', path, ask('Hi'), keys.throttled));
  expect(sent).toHaveLength(60);
}

beforeAll(async () => {
  [simulator, broken, receiver, place] = await Promise.all([
    startSimulator({ api_key: null }),
    startScriptedUpstream(whole(503, { error: { message: 'overloaded' } })),
    startOtlpReceiver(),
    recordsPlace(),
  ]);
  sidecar = await startSidecar(configuration(), {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_BSP_SCHEDULE_DELAY: '100',
  });
  await sendSixty();
  await until(async () => {
    scraped = await (await fetch(`${sidecar.adminUrl}/metrics`)).text();
    return counted('sluice_requests_total', {}) === 60;
  });
  expect(await sidecar.stop()).toBe(0);
  for (const text of sidecar
    .output()
    .split('\n')
    .filter(line => line.includes('"end_reason"'))) {
    const line = JSON.parse(text) as Line;
    lines.set(line.request_id, line);
  }
  await place.look(async store => {
    for (const { id } of sent) for (const row of await store.ledger.find(id)) rows.set(id, row);
  });
});
afterAll(async () => {
  await Promise.all([simulator.close(), broken.close(), place.remove()]);
  receiver.close();
});

/** The sum of all series of a metric that have these labels. */
function counted(name: string, labels: Readonly<Record<string, unknown>>): number {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value ?? ''}"`);
  let sum = 0;
  for (const [, given = '', value] of scraped.matchAll(new RegExp(`^${name}(?:\\{(.*)\\})? (\\S+)$`, 'gm')))
    if (wanted.every(label => given.split(/,(?=\w+=)/).includes(label))) sum += Number(value);
  return sum;
}

const spanOf = (id: string): ReceivedSpan =>
  receiver.spans.find(({ kind, attributes }) => kind === server && attributes['sluice.request_id'] === id)!;
const attemptSpansOf = (id: string): ReceivedSpan[] =>
  receiver.spans
    .filter(({ kind, parent_id }) => kind === client && parent_id === spanOf(id).span_id)
    .toSorted((a, b) => Number(a.attributes['sluice.attempt']) - Number(b.attributes['sluice.attempt']));

const all = <T>(read: (line: Line) => T): T[] => [...lines.values()].map(read);
const sum = (numbers: readonly unknown[]): number =>
  numbers.reduce<number>((total, number) => total + Number(number ?? 0), 0);
/** Fields of `record` that are there: null and undefined say the same, and so does a wait of 0. */
const there = (record: object): object =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null && value !== undefined));

describe('sixty requests, in whatever way they are looked at', () => {
  it('have one line of the log, one span and, if of an account, one row of the ledger each', () => {
    expect([...lines.keys()].toSorted()).toEqual(sent.map(({ id }) => id).toSorted());
    const spans = receiver.spans.filter(({ kind }) => kind === server);
    expect(spans.map(({ attributes }) => attributes['sluice.request_id']).toSorted()).toEqual(
      sent.map(({ id }) => id).toSorted(),
    );
    const asked = sent.filter(({ id }) => lines.get(id)!.attempts.length > 0);
    expect(asked).toHaveLength(53);
    // So few refusals are all kept.
    const billed = sent.filter(({ id }) => lines.get(id)!.account !== undefined).map(({ id }) => id);
    expect(billed).toHaveLength(58);
    expect([...rows.keys()].toSorted()).toEqual(billed.toSorted());
  });

  it('end in the same way for the client, the log, the span and the ledger', () => {
    for (const { id, status } of sent) {
      const line = lines.get(id)!;
      expect([id, line.status]).toEqual([id, status]);
      const { attributes, trace_id, failed } = spanOf(id);
      expect({ ...attributes, trace_id }).toMatchObject(
        there({
          trace_id: line.trace_id,
          'http.response.status_code': line.status,
          'error.type': line.error_type,
          'sluice.end_reason': line.end_reason,
          'sluice.attempts': line.attempts.length,
          'sluice.model': line.model,
          'sluice.account': line.account,
        }),
      );
      expect([id, failed]).toEqual([id, line.end_reason === 'upstream_failed']);
      const row = rows.get(id);
      if (!row) continue;
      const names = [
        'account',
        'endpoint',
        'model',
        'provider',
        'stream',
        'status',
        'end_reason',
        'trace_id',
      ];
      for (const name of names as (keyof LedgerRow)[])
        expect([id, name, row[name] ?? undefined]).toEqual([id, name, line[name]]);
      expect([row.error_type, row.code, row.refused_by].map(name => name ?? undefined)).toEqual([
        line.error_type,
        line.code,
        line.limit,
      ]);
      expect([row.duration_ms, row.first_token_ms ?? undefined]).toEqual([line.duration_ms, line.ttft_ms]);
    }
  });

  it('name the limit that refused', () => {
    const refused = all(line => line).filter(({ status }) => status === 429);
    expect(refused).toMatchObject([
      { account: 'throttled', code: 'rate_limited', limit: 'requests_per_minute' },
    ]);
  });

  it('have the same tokens and the same cost', () => {
    for (const [id, row] of rows) {
      const line = lines.get(id)!;
      const figures = [
        'prompt_tokens',
        'completion_tokens',
        'cached_tokens',
        'cost_usd',
        'estimated',
      ] as const;
      for (const name of figures) expect([id, name, row[name]]).toEqual([id, name, line[name]]);
      expect([id, row.reasoning_tokens]).toEqual([id, line.reasoning_tokens ?? 0]);
      const last = attemptSpansOf(id).at(-1);
      expect(last !== undefined).toBe(row.attempts > 0);
      if (!last) continue;
      const { attributes } = last;
      expect([id, attributes['gen_ai.usage.input_tokens'], attributes['gen_ai.usage.output_tokens']]).toEqual(
        [id, row.prompt_tokens, row.completion_tokens],
      );
    }
    const kinds = { input: 'prompt_tokens', output: 'completion_tokens', cached: 'cached_tokens' };
    for (const [kind, field] of Object.entries({ ...kinds, reasoning: 'reasoning_tokens' }))
      expect([kind, counted('sluice_tokens_total', { kind })]).toEqual([kind, sum(all(line => line[field]))]);
    expect(counted('sluice_cost_usd_total', {})).toBeCloseTo(sum(all(line => line.cost_usd)), 12);
    expect(sum(all(line => line.cost_usd))).toBeGreaterThan(0);
  });

  it('have the same attempts in the log, the ledger and the spans', () => {
    for (const { id } of sent) {
      const { attempts } = lines.get(id)!;
      const recorded = rows.get(id)?.attempts_made ?? [];
      expect([id, recorded.map(loggedOf)]).toEqual([id, attempts]);
      expect([id, attemptSpansOf(id).map(tracedOf)]).toEqual([
        id,
        attempts.map(({ provider, model, status, kind, outcome }) =>
          there({ provider, model, status, kind: outcome === 'aborted' ? 'aborted' : kind }),
        ),
      ]);
    }
    expect(lines.get(sent.find(({ kind }) => kind === 'covered')!.id)!.attempts).toMatchObject([
      { provider: 'broken', model: 'm', status: 503, outcome: 'failed', kind: 'status' },
      { provider: 'sound', model: 'aion-3.0', status: 200, outcome: 'completed' },
    ]);
  });

  it('are what the metrics count', () => {
    for (const line of lines.values()) {
      const { endpoint, status, end_reason, error_type = '' } = line;
      const alike = all(other => other).filter(
        other => other.endpoint === endpoint && other.status === status && other.end_reason === end_reason,
      );
      const labels = { endpoint, status, end_reason, error_type };
      expect([labels, counted('sluice_requests_total', labels)]).toEqual([labels, alike.length]);
    }
    const attempts = all(line => line.attempts).flat();
    for (const provider of ['sound', 'broken']) {
      const ofProvider = attempts.filter(attempt => attempt.provider === provider);
      const labels = { sluice_provider: provider };
      expect(counted('gen_ai_client_operation_duration_seconds_count', labels)).toBe(ofProvider.length);
      expect(counted('sluice_upstream_errors_total', labels)).toBe(
        ofProvider.filter(({ outcome }) => outcome !== 'completed').length,
      );
      expect(counted('gen_ai_client_token_usage_sum', labels)).toBe(
        sum(
          all(line =>
            line.provider === provider ? Number(line.prompt_tokens) + Number(line.completion_tokens) : 0,
          ),
        ),
      );
    }
    expect(counted('sluice_failovers_total', {})).toBe(
      sum(all(line => Math.max(0, line.attempts.length - 1))),
    );
    expect(counted('gen_ai_server_time_to_first_token_seconds_count', {})).toBe(
      all(line => line.ttft_ms).filter(ms => ms !== undefined).length,
    );
    expect(counted('gen_ai_server_request_duration_seconds_count', {})).toBe(60);
    // Clients invent no series.
    expect(scraped).not.toContain('made-up');
  });

  it('have a span for every run of a stage that the metrics count', () => {
    const spans = receiver.spans.filter(({ name }) => name.startsWith('stage '));
    const runs = Map.groupBy(
      spans,
      ({ attributes }) => `${attributes['sluice.stage']} ${attributes['sluice.hook']}`,
    );
    expect(runs.size).toBeGreaterThan(8);
    for (const [run, { length }] of runs) {
      const [stage, hook] = run.split(' ');
      expect([run, counted('sluice_stage_duration_seconds_count', { stage, hook })]).toEqual([run, length]);
    }
    expect(counted('sluice_stage_duration_seconds_count', {})).toBe(spans.length);
  });
});

/** An attempt of the ledger as the log has it. */
function loggedOf({ offset_ms: _, first_token_ms, wait_ms, ...attempt }: AttemptRow): object {
  return there({ ...attempt, ttft_ms: first_token_ms, wait_ms: wait_ms || undefined });
}

function tracedOf({ attributes }: ReceivedSpan): object {
  return there({
    provider: attributes['sluice.provider'],
    model: attributes['gen_ai.request.model'],
    status: attributes['http.response.status_code'],
    kind: attributes['error.type'],
  });
}
