import type { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { nanoUsdOf } from '../../../src/common/money.ts';
import { defaultModels } from '../../../src/config/example-models.ts';
import type { GatewayConfig } from '../../../src/config/schema.ts';
import type { LimitName } from '../../../src/gateway/limits/limit-table.ts';
import type { Outcome } from '../../../src/plugin.ts';
import { clientKey, providerNames } from '../gateway-under-test.ts';
import { expectNoTrace } from '../hostile-setting.ts';
import {
  type Script,
  type ScriptedUpstream,
  startScriptedUpstream,
  type UpstreamRequest,
} from '../scripted-upstream.ts';
import { question } from '../settlement.ts';
import { type Bill, expectBilled, type UsageKind, usageKinds } from '../settlement-answer.ts';
import { failAfter, until } from '../until.ts';
import { expectBalance } from './balance.ts';
import { MatrixClient, type Sending } from './client.ts';
import { type MatrixSetting, type Mount, type MountName, mountNames, openMount, plenty } from './mounts.ts';
import { type DialectName, dialectNames, dialects, errorTypeIn, type Told, toldBy } from './told.ts';

export type Way = 'streamed' | 'whole';

/** One behaviour of upstream and client, and what must follow from it in every dialect and mount that it names. */
export interface Row {
  /** What happens, as the end of a sentence: `the upstream resets in the middle`. */
  readonly when: string;
  /** What each provider plays, the first one first. */
  readonly plays: (kind: UsageKind, way: Way) => Script | readonly Script[];
  /** What they play to the same request before, which is read to its end and is not looked at. */
  readonly before?: Row['plays'];
  /** What the client does; without it the client reads to the end. */
  readonly client?: (exchange: Exchange) => Promise<unknown> | unknown;
  /** Further fields of the request, by the names of chat completions. */
  readonly more?: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** What is sent in place of the request that all of this makes. */
  readonly sends?: (request: Sending) => Sending;
  readonly ways?: readonly Way[];
  readonly dialects?: readonly DialectName[];
  readonly mounts?: readonly MountName[];
  readonly kinds?: readonly UsageKind[];
  /** What the client is told; nothing is expected of a client that has left. */
  readonly told?: Partial<Omit<Told, 'error'>> & {
    readonly status?: number;
    /** Type of the error, by the name of chat completions. */
    readonly error?: string;
    readonly message?: string | RegExp;
    readonly headers?: Readonly<Record<string, unknown>>;
  };
  readonly settled: PartOf<Outcome>;
  /** Without it `also` looks at the usage. */
  readonly bill?: Bill;
  /** Which side has closed the last connection to an upstream; `kept` if neither. */
  readonly connection?: 'kept' | 'gateway' | 'upstream';
  /** Further expectations. */
  readonly also?: (exchange: Exchange, outcome: Outcome) => Promise<unknown> | unknown;
  /** Messages at `error` that the log may have; none otherwise. */
  readonly log?: RegExp;
}

/** One request of a row, from its client to its upstreams. */
export interface Exchange {
  readonly id: string;
  readonly mount: Mount;
  readonly dialect: DialectName;
  readonly way: Way;
  readonly client: MatrixClient;
  /** What its providers have received, attempt by attempt. */
  readonly requests: readonly UpstreamRequest[];
  /** Lets the provider that was asked first, or `attempt` later, play this as well. */
  play(script: Script, attempt?: number): Promise<void>;
  settled(): Promise<Outcome>;
}

type PartOf<T> = T extends object ? { readonly [Name in keyof T]?: PartOf<T[Name]> } : T;

/** What the providers play to a request, and what they have received of it. */
interface Asked {
  readonly scripts: readonly Script[];
  readonly requests: UpstreamRequest[];
  readonly sockets: Socket[];
}

interface Case {
  readonly row: Row;
  readonly mount: MountName;
  readonly dialect: DialectName;
  readonly way: Way;
  readonly kind: UsageKind;
  /** The model that is asked for, if not the one of all. */
  readonly model?: string;
}

/** How many exchanges of a matrix run at a time. */
const at_a_time = 12;
const most_ms = 20_000;
/** Names the exchange within its prompt, for the upstream that plays for it. */
const markOf = (id: string) => ` [${id}]`;
const mark = / \[((?:sidecar|express|chain)-\d+)\]/;

/** Gateways in every mount before the same upstreams, and the exchanges that they are asked for. */
class Matrix {
  readonly #providers: number;
  readonly #setting: MatrixSetting;
  readonly #asked = new Map<string, Asked>();
  readonly #mounts = new Map<MountName, Mount>();
  #upstreams: ScriptedUpstream[] = [];

  constructor(setting: MatrixSetting, providers: number) {
    this.#setting = setting;
    this.#providers = providers;
  }

  async open(names: readonly MountName[]): Promise<void> {
    this.#upstreams = await Promise.all(
      Array.from({ length: this.#providers }, (_, at) =>
        startScriptedUpstream((socket, request) => this.#play(at, socket, request)),
      ),
    );
    for (const name of names) this.#mounts.set(name, await openMount(name, this.#setting, this.#upstreams));
  }

  /** Sends the request of a case, lets its client do what it does, and compares what follows with the row. */
  async run(one: Case): Promise<void> {
    const { row, way, kind } = one;
    if (row.before) {
      const before = this.#ask(one, row.before(kind, way));
      await before.client.ended;
      await before.settled();
    }
    const exchange = this.#ask(one, row.plays(kind, way));
    const { id, mount, client, requests } = exchange;
    await row.client?.(exchange);
    if (row.told) await client.ended;
    const outcome = withoutStale(await exchange.settled());
    this.#expectTold(row, exchange, outcome);
    expect(outcome).toMatchObject({ endpoint: one.dialect, ...row.settled });
    if (row.bill) expectBilled(outcome.usage, kind, row.bill);
    // Behind a chain the application's own proxy decides whether a connection is kept.
    if (row.connection !== 'kept' || mount.name !== 'chain')
      await expectConnection(row.connection, requests.at(-1));
    await row.also?.(exchange, outcome);
    const errors = mount.lines.filter(({ level, request_id }) => level >= 50 && request_id === id);
    expect(errors.filter(({ msg }) => !row.log?.test(msg))).toEqual([]);
  }

  #ask({ row, mount: name, dialect, way, model }: Case, plays: Script | readonly Script[]): Exchange {
    const mount = this.#mounts.get(name)!;
    const id = `${name}-${this.#asked.size}`;
    const requests: UpstreamRequest[] = [];
    const sockets: Socket[] = [];
    this.#asked.set(id, { scripts: [plays].flat() as Script[], requests, sockets });
    const { path, request } = dialects[dialect];
    const body = request(question + markOf(id), {
      ...(way === 'streamed' && { stream: true }),
      ...(model && { model }),
      ...row.more,
    });
    const sending = {
      path,
      headers: {
        authorization: `Bearer ${clientKey}`,
        'content-type': 'application/json',
        'x-request-id': id,
        ...row.headers,
      },
      body: JSON.stringify(body),
    };
    const client = new MatrixClient(mount.url, row.sends?.(sending) ?? sending);
    return {
      ...{ id, mount, dialect, way, client, requests },
      async play(script, attempt = 0) {
        await until(() => requests.length > attempt);
        playOn(sockets[attempt]!, requests[attempt]!, script);
      },
      async settled() {
        const find = () => mount.entries.find(({ outcome }) => outcome.id === id)?.outcome;
        await until(() => find() !== undefined);
        return find()!;
      },
    };
  }

  #expectTold({ told }: Row, { dialect, client }: Exchange, { usage }: Outcome): void {
    for (const upstream of this.#upstreams)
      expectNoTrace(client.text, new Headers(client.headers as Record<string, string>), upstream);
    if (!told) return;
    const { status = 200, error, message, headers, ...rest } = told;
    expect({ status: client.status, text: client.text }).toEqual({ status, text: client.text });
    const read = toldBy(client, dialect);
    expect(read).toMatchObject(rest);
    const billed = { prompt: usage.prompt_tokens, completion: usage.completion_tokens };
    if (read.usage) expect(read.usage).toEqual(billed);
    expect(read.error?.type).toBe(error && errorTypeIn(dialect, status, error));
    if (message !== undefined) expect(read.error?.message).toMatch(message);
    if (headers) expect(client.headers).toMatchObject(headers);
  }

  /** Closes all gateways and expects that every exchange was settled once and has left nothing behind. */
  async close(): Promise<void> {
    for (const mount of this.#mounts.values()) {
      await until(async () => (await openIn(mount)) === 0);
      const ids = [...this.#asked.keys()].filter(id => id.startsWith(mount.name));
      const settled = mount.entries.map(({ outcome }) => outcome.id);
      expect(settled.toSorted()).toEqual(ids.toSorted());
      await expectBalance(mount.registry, mount.entries);
      await expectAttempts(mount);
      expectLimits(mount);
    }
    for (const upstream of this.#upstreams)
      expect(upstream.open).toBeLessThanOrEqual(at_a_time * mountNames.length);
    await Promise.all([...this.#mounts.values()].map(mount => mount.close()));
    await Promise.all(this.#upstreams.map(upstream => upstream.close()));
  }

  #play(provider: number, socket: Socket, request: UpstreamRequest) {
    const asked = this.#asked.get(mark.exec(request.text)?.[1] ?? '');
    const script = asked?.scripts[provider] ?? asked?.scripts[0];
    if (!asked || script === undefined)
      throw new Error(`the upstream was asked for nothing known: ${request.text}`);
    asked.requests.push(request);
    asked.sockets.push(socket);
    playOn(socket, request, script);
  }
}

function playOn(socket: Socket, request: UpstreamRequest, script: Script): void {
  if (typeof script === 'function') script(socket, request);
  else socket.write(script);
}

async function expectConnection(connection: Row['connection'], last?: UpstreamRequest): Promise<void> {
  if (connection === 'kept') expect(last?.isClosed).toBe(false);
  else if (connection) expect(await last?.closed).toBe(connection);
}

async function openIn({ registry }: Mount): Promise<number> {
  const { values } = await registry.getSingleMetric('sluice_in_flight')!.get();
  return values.reduce((sum, { value }) => sum + value, 0);
}

/** The outcome without the attempts on kept connections that were just closed, which depend on the exchanges before. */
const withoutStale = (outcome: Outcome): Outcome => ({
  ...outcome,
  attempts: outcome.attempts.filter(({ kind }) => kind !== 'stale_connection'),
});

/** Metrics of providers count the attempts of the records, and none runs any longer. */
async function expectAttempts({ name, registry, entries }: Mount): Promise<void> {
  // Behind a chain are no providers.
  if (name === 'chain') return;
  const counted: Record<string, number> = {};
  const count = (what: string) => {
    counted[what] = (counted[what] ?? 0) + 1;
  };
  for (const { attempts } of entries.map(({ outcome }) => outcome))
    for (const [at, { provider, kind, outcome }] of attempts.entries()) {
      if (outcome !== 'completed') count(`${provider} ${outcome === 'aborted' ? 'aborted' : kind}`);
      const next = attempts[at + 1];
      // On a kept connection that was just closed it is sent again, which is no failover.
      if (next && kind !== 'stale_connection') count(`${provider} ${kind}, then ${next.provider}`);
    }
  const samples = async (metric: string, nameOf: (labels: Record<string, unknown>) => string) =>
    (await registry.getSingleMetric(metric)!.get()).values.flatMap(({ labels, value }) =>
      value > 0 ? [[nameOf(labels), value]] : [],
    );
  const told = [
    ...(await samples('sluice_upstream_errors_total', l => `${l.sluice_provider} ${l.kind}`)),
    ...(await samples('sluice_failovers_total', l => `${l.from} ${l.kind}, then ${l.to}`)),
  ];
  expect(Object.fromEntries(told)).toEqual(counted);
  expect(await samples('sluice_provider_in_flight', l => `${l.sluice_provider}`)).toEqual([]);
}

/** What the limits have counted is what was billed, and no permit is held. */
function expectLimits({ state, entries }: Mount): void {
  const outcomes = entries.map(({ outcome }) => outcome);
  const counted = (name: LimitName) =>
    plenty - state.statuses('tester', [{ name, max: plenty }])[0]!.remaining;
  const sum = (of: (outcome: Outcome) => number) => outcomes.reduce((all, outcome) => all + of(outcome), 0);
  const tokensOf = ({ usage }: Outcome) => usage.prompt_tokens + usage.completion_tokens;
  // What failed for the provider's reasons and is not billed is given back.
  const isCounted = (outcome: Outcome) =>
    outcome.account !== undefined &&
    ((outcome.status !== 502 && !/^(provider|configuration)_error$/.test(outcome.error_type ?? '')) ||
      tokensOf(outcome) > 0);
  expect({
    requests: counted('requests_per_minute'),
    minute: counted('tokens_per_minute'),
    day: counted('tokens_per_day'),
    money: counted('usd_per_month'),
    running: counted('concurrent_requests'),
  }).toEqual({
    requests: outcomes.filter(isCounted).length,
    minute: sum(tokensOf),
    day: sum(tokensOf),
    money: sum(({ cost_usd }) => nanoUsdOf(cost_usd)!),
    running: 0,
  });
}

/** Tests for all combinations that the rows name; they run many at a time, over gateways that live as long as the tests of this call. */
export function matrix(
  title: string,
  rows: readonly Row[],
  setting: MatrixSetting = {},
  providers = 1,
): void {
  const cases = rows
    .flatMap(row => casesOf(row))
    .map((one, at) => (setting.ownModels ? { ...one, model: `own/${at}` } : one));
  describe(title, () => {
    const gateways = new Matrix(
      setting.ownModels ? withModels(setting, cases, providers) : setting,
      providers,
    );
    const results = new Map<Case, Promise<PromiseSettledResult<void>>>();

    beforeAll(async () => {
      await gateways.open(mountNames.filter(name => cases.some(({ mount }) => mount === name)));
      let next = 0;
      const done = new Map(cases.map(one => [one, Promise.withResolvers<PromiseSettledResult<void>>()]));
      for (const [one, { promise }] of done) results.set(one, promise);
      const worker = async () => {
        for (let one = cases[next++]; one; one = cases[next++])
          done.get(one)!.resolve((await Promise.allSettled([inTime(gateways.run(one))]))[0]);
      };
      for (let count = 0; count < at_a_time; count++) void worker();
    });

    afterAll(async () => {
      await Promise.all(results.values());
      await gateways.close();
    });

    it.each(cases.map(one => [sentenceOf(one), one] as const))('%s', async (_, one) => {
      const result = await results.get(one)!;
      if (result.status === 'rejected') throw result.reason;
    });
  });
}

/** The setting with the models of these cases, each served by all providers in their order. */
function withModels(setting: MatrixSetting, cases: readonly Case[], providers: number): MatrixSetting {
  const [example] = defaultModels('');
  const upstreams = providerNames
    .slice(0, providers)
    .map((provider, at) => ({ provider, model: 'm', priority: at + 1 }));
  const models = cases.map(({ model: id }) => ({
    ...example,
    ...{ id, upstreams, pricing: { prompt: '0', completion: '0' } },
  }));
  return { ...setting, config: { ...setting.config, models: models as GatewayConfig['models'] } };
}

/** No exchange of a matrix waits for longer than the settings let it. */
async function inTime(running: Promise<void>): Promise<void> {
  let stop = () => {};
  const late = new Promise<never>((_, reject) => {
    stop = failAfter(most_ms, () => reject(new Error(`the exchange has not ended in ${most_ms} ms`)));
  });
  await Promise.race([running, late]).finally(() => stop());
}

const sentenceOf = ({ row, mount, dialect, way, kind }: Case): string =>
  `${row.when}: ${dialect}, ${way}, ${mount}, usage ${kind.usage}`;

function casesOf(row: Row): Case[] {
  const { ways = ['streamed', 'whole'], dialects = dialectNames, mounts = mountNames } = row;
  const { kinds = usageKinds.slice(1, 2) } = row;
  return mounts.flatMap(mount =>
    dialects.flatMap(dialect => ways.flatMap(way => kinds.map(kind => ({ row, mount, dialect, way, kind })))),
  );
}
