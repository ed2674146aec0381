import { hash } from 'node:crypto';
import type { ToolCall } from '../../canonical.ts';
import { exceeds } from '../../dialects/json-size.ts';

export interface MemoryLimits {
  /** How much is remembered at most, in characters of JSON and a hundred for every turn. */
  readonly max_characters: number;
  /** How long a turn is remembered at most, in milliseconds. */
  readonly max_age_ms: number;
}

/** What an entry counts beside its text: its key, and its place in the map. */
const entry_characters = 100;

interface Entry {
  readonly text: string;
  readonly kept_ms: number;
}

/**
 * What an upstream wants to see again of a turn that called tools and that the canonical form has no place for: signed or encrypted
 * reasoning. Found by the calls themselves, whose ids nobody can guess; forgotten by age and, when it is full, oldest first. It is
 * this process's own: elsewhere, or after a restart, a turn is simply not known.
 */
export class ReasoningCache<Value> {
  readonly #limits: MemoryLimits;
  readonly #now: () => number;
  /** In the order of their last use. */
  readonly #entries = new Map<string, Entry>();
  #characters = 0;

  constructor(limits: MemoryLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  /** How much is remembered now, counted in the same way. */
  get characters(): number {
    return this.#characters;
  }

  /** Remembers `value`, which must be plain JSON, with the turn that made these calls. */
  keep(calls: readonly ToolCall[], value: Value): void {
    if (calls.length === 0) return;
    const text = JSON.stringify(value);
    const { max_characters } = this.#limits;
    if (sizeOf(text) > max_characters) return;
    const key = keyOf(calls);
    this.#forget(key);
    this.#entries.set(key, { text, kept_ms: this.#now() });
    this.#characters += sizeOf(text);
    this.#makeRoom();
  }

  /** What was remembered with the turn that made these calls. */
  recall(calls: readonly ToolCall[]): Value | undefined {
    this.#makeRoom();
    if (calls.length === 0 || this.#entries.size === 0) return undefined;
    const key = keyOf(calls);
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#forget(key);
    if (this.#isOld(entry)) return undefined;
    this.#entries.set(key, entry);
    this.#characters += sizeOf(entry.text);
    return JSON.parse(entry.text) as Value;
  }

  #makeRoom(): void {
    for (const [key, entry] of this.#entries) {
      if (this.#characters <= this.#limits.max_characters && !this.#isOld(entry)) return;
      this.#forget(key);
    }
  }

  #isOld({ kept_ms }: Entry): boolean {
    return this.#now() - kept_ms > this.#limits.max_age_ms;
  }

  #forget(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    this.#characters -= sizeOf(entry.text);
  }
}

const sizeOf = (text: string): number => text.length + entry_characters;

/** Arguments of more than this are the same only if they are written the same: to compare them they must be parsed. */
const max_compared = { values: 50_000, keys: 50_000 };

/** Arguments may come back written anew, as by clients that parse them; what they say is the same. */
function keyOf(calls: readonly ToolCall[]): string {
  const said = calls.map(call => [call.id, call.function.name, sameArguments(call.function.arguments)]);
  return hash('sha256', JSON.stringify(said), 'base64');
}

function sameArguments(text: string): string {
  if (exceeds(text, max_compared)) return text;
  try {
    return JSON.stringify(JSON.parse(text || '{}'));
  } catch {
    // No JSON, or nested more deeply than can be written again.
    return text;
  }
}
