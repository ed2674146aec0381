import type { LedgerRow } from '../../src/stores/records/ledger-entry.ts';
import { tokensTold } from './clients/checks.ts';
import { type Errand, idIn, type Kind, type Reply } from './clients/errand.ts';
import type { GatewayProcess } from './gateway-process.ts';
import type { Call } from './provider-child.ts';

/** The fields of a log line that are checked. */
interface Line {
  readonly level: number;
  readonly request_id?: string;
  readonly msg?: string;
  readonly endpoint?: string;
  readonly end_reason?: string;
  readonly status?: number;
  readonly completion_tokens?: number;
}

/** A call as its provider reported it. */
interface ToldCall extends Omit<Call, 'at' | 'call'> {
  readonly begun_ms: number;
  /** Its provider had been stopped, and took it from where it had waited: it may have been sent long before. */
  readonly is_stale: boolean;
  word_ms?: number;
}

/** One errand, and what each side has reported of it. */
interface Entry {
  readonly kind: Kind;
  readonly gateway: GatewayProcess;
  readonly begun_ms: number;
  ended_ms?: number;
  /** Until both the reply and the record are there. */
  open: { readonly errand: Errand; readonly recorded: () => void; record?: Line; reply?: Reply } | undefined;
  readonly calls: ToldCall[];
  rows: number;
}

const error_level = 50;
/** More faults than these say nothing new. */
const kept_faults = 40;
/** An instance that is killed may lose what it has settled in the last 250 ms; in 1500 ms while its store is slow, and a busy machine is. */
const lost_with_instance_ms = 5000;
/** A call that begins so long after the first word of another one has left cannot have begun for want of it. */
export const surely_later_ms = 500;

/** Compares what clients received, what the gateways logged, what providers produced and what the ledger holds. */
export class Books {
  /** How many errands were begun, by kind. */
  readonly asked = new Map<string, number>();
  /** Exchanges by status and end reason, as logged. */
  readonly ends = new Map<string, number>();
  /** Faults found in replies and records. */
  readonly faults: string[] = [];
  fault_count = 0;
  /** Lines of level error and above. */
  readonly alarms = new Map<string, number>();
  /** Milliseconds that good clients have waited for whole answers. */
  readonly waits_ms: number[] = [];
  records = 0;
  rows = 0;
  row_tokens = 0;
  calls = 0;
  /** What providers have produced, as far as they have reported it. */
  provider_tokens = 0;
  /** Number of rows whose tokens were compared with the provider's report. */
  compared = 0;
  readonly #now: () => number;
  readonly #entries = new Map<string, Entry>();
  readonly #calls = new Map<string, Pick<ToldCall, 'begun_ms' | 'is_stale'> & { told?: ToldCall }>();

  /** `now` in milliseconds, on the clock of the gateways' absences. */
  constructor(now = () => performance.now()) {
    this.#now = now;
  }

  /** An errand is begun. The promise resolves when the gateway has recorded its end. */
  begin(id: string, kind: Kind, errand: Errand, gateway: GatewayProcess): Promise<void> {
    this.asked.set(kind.name, (this.asked.get(kind.name) ?? 0) + 1);
    return new Promise(recorded => {
      const begun_ms = this.#now();
      this.#entries.set(id, { kind, gateway, begun_ms, open: { errand, recorded }, calls: [], rows: 0 });
    });
  }

  /** Adds the reply that the client received. */
  end(id: string, reply: Reply): void {
    const entry = this.#entries.get(id);
    if (!entry?.open) return this.#fault(id, 'was recorded before its client had begun');
    const { kind, open, begun_ms } = entry;
    entry.ended_ms = this.#now();
    const wrong = reply.fault ?? (left(open.errand) ? undefined : open.errand.check?.(reply));
    if (wrong && !this.#isExcused(entry, 0)) this.#fault(`${id} (${kind.name})`, wrong);
    if (kind.good && !wrong) this.waits_ms.push(entry.ended_ms - begun_ms);
    open.reply = reply;
    if (open.errand.endings.length === 0) entry.open = undefined;
    else this.#compare(id, entry);
  }

  /** A line that a gateway has printed. */
  line(text: string): void {
    if (!text.startsWith('{')) return this.#fault('a gateway', `printed: ${text}`);
    // The last line of a process that was killed may be cut.
    if (!text.endsWith('}')) return;
    const line = JSON.parse(text) as Line;
    const { request_id: id = '' } = line;
    const entry = this.#entries.get(id);
    if (line.level >= error_level && !entry?.open?.errand.alarms) count(this.alarms, line.msg ?? text);
    if (line.endpoint === undefined || line.end_reason === undefined) return;
    this.records++;
    count(this.ends, `${line.status} ${line.end_reason}`);
    if (idIn(id) === undefined) return;
    if (!entry?.open || entry.open.record || entry.open.errand.endings.length === 0)
      return this.#fault(id, `has a record too many: ${text}`);
    entry.open.record = line;
    entry.open.recorded();
    this.#compare(id, entry);
  }

  /** Adds a report of a provider process about a call. */
  call(provider: string, { at, call, id, ...told }: Call, is_stale: boolean): void {
    const key = `${provider}.${call}`;
    const known = this.#calls.get(key) ?? { begun_ms: this.#now(), is_stale };
    this.#calls.set(key, known);
    if (at === 'begin') return void this.calls++;
    if (at === 'end') this.#calls.delete(key);
    this.provider_tokens += (told.prompt_tokens ?? 0) + (told.completion_tokens ?? 0);
    const entry = this.#entries.get(id ?? '');
    if (!entry) return;
    if (!known.told) entry.calls.push((known.told = { begun_ms: known.begun_ms, is_stale: known.is_stale }));
    if (at === 'word') known.told.word_ms = this.#now();
    else Object.assign(known.told, told);
  }

  /** A row of the ledger. */
  row({ request_id, ...row }: LedgerRow): void {
    const tokens = row.prompt_tokens + row.completion_tokens;
    this.rows++;
    this.row_tokens += tokens;
    const entry = this.#entries.get(request_id);
    if (!entry) return;
    entry.rows++;
    const { calls } = entry;
    // One that hung may begin to answer after another has.
    const call = calls.find(({ finished }) => finished) ?? calls.find(({ word_ms }) => word_ms !== undefined);
    if (row.estimated || call?.completion_tokens === undefined || tokens === 0) return;
    this.compared++;
    const name = `${request_id} (${entry.kind.name})`;
    const isWhole = row.end_reason === 'completed' && call.finished;
    const differs = isWhole
      ? row.prompt_tokens !== call.prompt_tokens || row.completion_tokens !== call.completion_tokens
      : row.completion_tokens > call.completion_tokens;
    if (differs)
      this.#fault(
        name,
        `has ${row.prompt_tokens} + ${row.completion_tokens} tokens in the ledger, and its provider told ${call.prompt_tokens} + ${call.completion_tokens}`,
      );
  }

  /** Errands that must become exchanges and have no record yet. */
  get missing(): string[] {
    return this.#idsOf(
      entry =>
        entry.open !== undefined &&
        !entry.open.record &&
        !entry.open.errand.may_lack_record &&
        entry.open.errand.endings.length > 0 &&
        !this.#isExcused(entry, lost_with_instance_ms),
    );
  }

  /** Answers that were begun upstream and are not in the ledger, but for those of an instance that was killed. */
  get lost(): string[] {
    return this.#idsOf(entry => isLost(entry) && !this.#isExcused(entry, lost_with_instance_ms));
  }

  /** The same where the instance was killed: how many, and how long the oldest had ended before, in milliseconds. */
  get lost_with_instances(): { readonly count: number; readonly oldest_ms: number } {
    const lost = [...this.#entries.values()].filter(isLost);
    const ages = lost.map(({ gateway, ended_ms = Number.POSITIVE_INFINITY }) => {
      const killed_ms = gateway.absences.find(({ from_ms }) => from_ms > ended_ms)?.from_ms;
      return killed_ms === undefined ? 0 : Math.round(killed_ms - ended_ms);
    });
    return { count: lost.length - this.lost.length, oldest_ms: Math.max(0, ...ages) };
  }

  /** Rows too many, and calls after the first word of another one had arrived (protocol i6). */
  get doubled(): string[] {
    return this.#idsOf(({ rows, calls }) => rows > 1 || calls.some(call => isAnother(call, calls)));
  }

  #compare(id: string, { kind, open, ...entry }: Entry): void {
    const { errand, record, reply } = open ?? {};
    if (!errand || !record || !reply) return;
    this.#entries.get(id)!.open = undefined;
    if (this.#isExcused(entry, 0)) return;
    const name = `${id} (${kind.name})`;
    if (!errand.endings.some(ending => ending === record.end_reason))
      this.#fault(name, `is recorded as ${record.end_reason} instead of ${errand.endings.join(' or ')}`);
    if (reply.status !== 0 && reply.status !== record.status)
      this.#fault(name, `was answered ${reply.status} and is recorded with ${record.status}`);
    const tokens = tokensTold(reply);
    if (tokens !== undefined && tokens !== record.completion_tokens)
      this.#fault(name, `was told ${tokens} tokens and is recorded with ${record.completion_tokens}`);
  }

  /** Its instance was gone during the exchange or at most `before_ms` after it. */
  #isExcused({ gateway, begun_ms, ended_ms }: Omit<Entry, 'kind' | 'open'>, before_ms: number): boolean {
    const last_ms = (ended_ms ?? Number.POSITIVE_INFINITY) + before_ms;
    return gateway.absences.some(({ from_ms, until_ms }) => last_ms >= from_ms && begun_ms <= until_ms);
  }

  #idsOf(holds: (entry: Entry) => boolean): string[] {
    return [...this.#entries].flatMap(([id, entry]) => (holds(entry) ? [`${id} (${entry.kind.name})`] : []));
  }

  #fault(who: string, what: string): void {
    this.fault_count++;
    if (this.faults.length < kept_faults) this.faults.push(`${who}: ${what}`);
  }
}

const count = (counts: Map<string, number>, name: string): void =>
  void counts.set(name, (counts.get(name) ?? 0) + 1);

const left = ({ manner }: Errand): boolean =>
  manner !== undefined &&
  Object.keys(manner).some(name => !['pause_ms', 'drip_ms', 'unfinished'].includes(name));

const isLost = ({ rows, calls }: Entry): boolean =>
  rows === 0 && calls.some(({ word_ms }) => word_ms !== undefined);

const isAnother = ({ begun_ms, is_stale }: ToldCall, calls: readonly ToldCall[]): boolean =>
  !is_stale && calls.some(({ word_ms = Number.POSITIVE_INFINITY }) => begun_ms > word_ms + surely_later_ms);
