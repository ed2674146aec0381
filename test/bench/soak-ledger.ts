import { tokensTold } from './soak-checks.ts';
import type { Errand, Reply } from './soak-errand.ts';

/** What is looked at in a line of the log. */
interface Line {
  readonly level: number;
  readonly request_id?: string;
  readonly msg?: string;
  readonly endpoint?: string;
  readonly end_reason?: string;
  readonly status?: number;
  readonly completion_tokens?: number;
  readonly attempts?: number;
}

interface Entry {
  readonly kind: string;
  readonly errand: Errand;
  readonly recorded: () => void;
  record?: Line;
  reply?: Reply;
}

const error_level = 50;
/** More faults than these say nothing new. */
const kept_faults = 40;

/** Holds what clients did and saw against what the gateway has recorded of it, one record for each. */
export class Ledger {
  /** How many errands must become exchanges, by kind. */
  readonly asked = new Map<string, number>();
  /** How many exchanges the log has. */
  records = 0;
  /** How often upstreams were asked. */
  attempts = 0;
  readonly faults: string[] = [];
  fault_count = 0;
  readonly #open = new Map<string, Entry>();
  readonly #done = new Set<string>();

  /** An errand is begun. The promise resolves when the gateway has recorded its end. */
  begin(id: string, kind: string, errand: Errand): Promise<void> {
    this.asked.set(kind, (this.asked.get(kind) ?? 0) + 1);
    return new Promise(recorded => this.#open.set(id, { kind, errand, recorded }));
  }

  /** The client has done with it. */
  end(id: string, reply: Reply): void {
    const entry = this.#open.get(id);
    if (!entry) return this.#fault(id, 'was recorded before its client had begun');
    const { kind, errand } = entry;
    const wrong = reply.fault ?? (left(errand) ? undefined : errand.check?.(reply));
    if (wrong) this.#fault(`${id} (${kind})`, wrong);
    entry.reply = reply;
    if (errand.endings.length === 0) this.#open.delete(id);
    else this.#compare(id, entry);
  }

  /** A line that the gateway has printed. */
  line(text: string): void {
    if (!text.startsWith('{')) {
      if (!text.startsWith('sluice is listening')) this.#fault('the gateway', `printed: ${text}`);
      return;
    }
    const line = JSON.parse(text) as Line;
    const { request_id: id = '' } = line;
    const entry = this.#open.get(id);
    if (line.level >= error_level && !entry?.errand.alarms) this.#fault('the log', text);
    if (line.endpoint === undefined) return;
    this.records++;
    this.attempts += line.attempts ?? 0;
    if (!entry || entry.record || entry.errand.endings.length === 0)
      return this.#fault(id, `has a record too many: ${text}`);
    entry.record = line;
    entry.recorded();
    this.#compare(id, entry);
  }

  /** How many of the errands that must become exchanges have no record yet. */
  get missing(): number {
    return [...this.#open.values()].filter(({ record }) => !record).length;
  }

  /** How many errands have become exchanges, or must. */
  get expected(): number {
    return this.#done.size + this.#open.size;
  }

  #compare(id: string, { kind, errand, record, reply }: Entry): void {
    if (!record || !reply) return;
    this.#open.delete(id);
    this.#done.add(id);
    const name = `${id} (${kind})`;
    if (!errand.endings.some(ending => ending === record.end_reason))
      this.#fault(name, `is recorded as ${record.end_reason} instead of ${errand.endings.join(' or ')}`);
    if (reply.status !== 0 && reply.status !== record.status)
      this.#fault(name, `was answered ${reply.status} and is recorded with ${record.status}`);
    const tokens = tokensTold(reply);
    if (tokens !== undefined && tokens !== record.completion_tokens)
      this.#fault(name, `was told ${tokens} tokens and is recorded with ${record.completion_tokens}`);
  }

  #fault(who: string, what: string): void {
    this.fault_count++;
    if (this.faults.length < kept_faults) this.faults.push(`${who}: ${what}`);
  }
}

const left = ({ manner }: Errand): boolean =>
  manner !== undefined && Object.keys(manner).some(name => name !== 'pause_ms');
