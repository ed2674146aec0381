import { picoUsd } from '../../../src/common/money.ts';
import { defaultModels } from '../../../src/config/example-models.ts';
import type { ListedRow } from '../../../src/records/ledger-records.ts';
import { faultIn, type Reply, tokensIn } from './clients/checks.ts';
import { idIn, type Kind, type Request } from './clients/request.ts';
import {
  answeringCall,
  type Exchange,
  hasLeft,
  isDoubled,
  isExcused,
  isLost,
  type LogLine,
  nameOf,
  type ProviderCall,
  recordFaults,
  tokenFault,
} from './exchange-reports.ts';
import type { GatewayProcess } from './gateway-process.ts';
import type { Call } from './provider-child.ts';

/** Prices of the models that every deployment has. */
const prices = new Map(defaultModels('any').map(({ id, pricing }) => [id, pricing]));

const error_level = 50;
/** More faults than these say nothing new. */
const most_faults = 40;
/** An instance that is killed may lose what it has settled in the last 250 ms; in 1500 ms while its store is slow, and a busy machine is. */
const lost_with_instance_ms = 5000;

/** Compares what clients received, gateways logged, providers generated and the ledger holds, request by request. */
export class LedgerComparison {
  /** Requests sent, by kind. */
  readonly sent = new Map<string, number>();
  /** Exchanges by status and end reason, as logged. */
  readonly ends = new Map<string, number>();
  /** The first faults; `fault_count` is the number of all. */
  readonly faults: string[] = [];
  fault_count = 0;
  /** Lines of level error and above. */
  readonly alarms = new Map<string, number>();
  /** Milliseconds that well-behaved clients have waited for whole answers. */
  readonly waits_ms: number[] = [];
  records = 0;
  rows = 0;
  row_tokens = 0;
  /** Of all rows, in 10⁻¹² dollars, by their tokens and the prices of their models. */
  row_cost = 0n;
  calls = 0;
  /** What providers have generated, as far as they have reported it. */
  provider_tokens = 0;
  /** Number of rows whose tokens were compared with the provider's report. */
  compared = 0;
  readonly #now: () => number;
  readonly #exchanges = new Map<string, Exchange>();
  readonly #calls = new Map<string, ProviderCall>();

  /** `now` in milliseconds, on the clock of the gateways' absences. */
  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  /** Adds a request before it is sent. The promise resolves when the gateway has logged its end. */
  begin(id: string, kind: Kind, request: Request, gateway: GatewayProcess): Promise<void> {
    count(this.sent, kind.name);
    return new Promise(onRecord => {
      const begun_ms = this.#now();
      this.#exchanges.set(id, { kind, request, gateway, begun_ms, onRecord, calls: [], rows: 0 });
    });
  }

  /** Adds the reply that the client received. */
  end(id: string, reply: Reply): void {
    const exchange = this.#exchanges.get(id)!;
    const { kind, request, begun_ms } = exchange;
    exchange.ended_ms = this.#now();
    exchange.has_left = hasLeft(exchange);
    exchange.reply = { status: reply.status, tokens: tokensIn(reply) };
    const fault = reply.fault ?? (exchange.has_left ? undefined : faultIn(request?.check, reply));
    if (fault && !isExcused(exchange)) this.#fault(id, fault);
    if (kind.good && !fault) this.waits_ms.push(exchange.ended_ms - begun_ms);
    this.#compare(id, exchange);
  }

  /** Adds a line that a gateway has printed. */
  line(text: string): void {
    if (!text.startsWith('{')) return this.#fault('a gateway', `printed: ${text}`);
    // The last line of a process that was killed may be cut.
    if (!text.endsWith('}')) return;
    const line = JSON.parse(text) as LogLine;
    const { request_id: id = '' } = line;
    const exchange = this.#exchanges.get(id);
    if (line.level >= error_level && !exchange?.request?.alarms) count(this.alarms, line.msg ?? text);
    if (line.endpoint === undefined || line.end_reason === undefined) return;
    this.records++;
    count(this.ends, `${line.status} ${line.end_reason}`);
    if (idIn(id) === undefined) return;
    if (!exchange || exchange.record || exchange.kind.endings.length === 0)
      return this.#fault(id, `has a record too many: ${text}`);
    exchange.record = line;
    exchange.onRecord();
    this.#compare(id, exchange);
  }

  /** Adds a provider's report about the call `key`. */
  call(key: string, { at, call: _, id, ...usage }: Call, queued: boolean): void {
    const call = this.#calls.get(key) ?? { begun_ms: this.#now(), queued };
    this.#calls.set(key, call);
    if (at === 'begin') return void this.calls++;
    if (at === 'end') this.#calls.delete(key);
    this.provider_tokens += (usage.prompt_tokens ?? 0) + (usage.completion_tokens ?? 0);
    const exchange = this.#exchanges.get(id ?? '');
    if (!exchange) return;
    if (!exchange.calls.includes(call)) exchange.calls.push(call);
    if (at === 'text') call.text_ms = this.#now();
    else Object.assign(call, usage);
  }

  /** Adds a row of the ledger. */
  row({ request_id: id, ...row }: ListedRow): void {
    const tokens = row.prompt_tokens + row.completion_tokens;
    this.rows++;
    this.row_tokens += tokens;
    this.#cost(id, row);
    const exchange = this.#exchanges.get(id);
    if (!exchange) return;
    exchange.rows++;
    const call = answeringCall(exchange);
    if (row.estimated || call?.completion_tokens === undefined || tokens === 0) return;
    this.compared++;
    const fault = tokenFault(row, call);
    if (fault) this.#fault(id, fault);
  }

  /** Checks what a row says it cost. */
  #cost(id: string, row: Omit<ListedRow, 'request_id'>): void {
    const pricing = prices.get(row.model ?? '');
    const { prompt_tokens, cached_tokens, completion_tokens, cost_usd } = row;
    const { prompt = '0', completion = '0', input_cache_read = prompt } = pricing ?? {};
    const cost =
      BigInt(prompt_tokens - cached_tokens) * picoUsd(prompt) +
      BigInt(cached_tokens) * picoUsd(input_cache_read) +
      BigInt(completion_tokens) * picoUsd(completion);
    this.row_cost += cost;
    if (picoUsd(cost_usd ?? '0') !== cost) this.#fault(id, `cost ${cost_usd}, and not ${cost} e-12 dollars`);
  }

  /** Requests that must become exchanges and have no record yet. */
  get missing(): string[] {
    return this.#missing(({ kind, record }) => !record && !kind.may_lack_record && kind.endings.length > 0);
  }

  /** Answers that were begun upstream and are not in the ledger, except those of an instance that was killed. */
  get lost(): string[] {
    return this.#missing(isLost);
  }

  /** The same where the instance was killed: how many, and how long the oldest had ended before, in milliseconds. */
  get lost_with_instances(): { readonly count: number; readonly oldest_ms: number } {
    const excused = [...this.#exchanges.values()].filter(
      exchange => isLost(exchange) && isExcused(exchange, lost_with_instance_ms),
    );
    const ages = excused.map(exchange => {
      const { gateway, ended_ms = Number.POSITIVE_INFINITY } = exchange;
      // What a client has left is read on, and settled later.
      if (isExcused(exchange) || exchange.has_left) return 0;
      const killed_ms = gateway.absences.find(({ from_ms }) => from_ms > ended_ms)?.from_ms;
      return killed_ms === undefined ? 0 : Math.round(killed_ms - ended_ms);
    });
    return { count: excused.length, oldest_ms: Math.max(0, ...ages) };
  }

  /** Requests with two rows, or with a call after the first text of another one had left. */
  get doubled(): string[] {
    return [...this.#exchanges].filter(([, exchange]) => isDoubled(exchange)).map(nameOf);
  }

  /** Compares reply and record once both are there. */
  #compare(id: string, exchange: Exchange): void {
    const { kind, record, reply } = exchange;
    if (!reply || (!record && kind.endings.length > 0)) return;
    // Bodies of requests would fill the memory of a long run.
    exchange.request = undefined;
    if (!record || isExcused(exchange)) return;
    for (const fault of recordFaults(exchange.kind, reply, record)) this.#fault(id, fault);
  }

  /** Those that an instance took with it when it was killed are excused. */
  #missing(isMissing: (exchange: Exchange) => boolean): string[] {
    const found = [...this.#exchanges].filter(([, exchange]) => isMissing(exchange));
    return found.filter(([, exchange]) => !isExcused(exchange, lost_with_instance_ms)).map(nameOf);
  }

  #fault(id: string, what: string): void {
    const exchange = this.#exchanges.get(id);
    this.fault_count++;
    if (this.faults.length < most_faults)
      this.faults.push(`${exchange ? nameOf([id, exchange]) : id}: ${what}`);
  }
}

const count = (counts: Map<string, number>, name: string): void =>
  void counts.set(name, (counts.get(name) ?? 0) + 1);
