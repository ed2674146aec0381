import { hash } from 'node:crypto';
import type { ToolCall } from '../../canonical.ts';
import { exceeds } from '../../dialects/json-size.ts';

export interface ReasoningCacheLimits {
  /** Characters of JSON, and a hundred for every turn. */
  readonly max_characters: number;
  /** TTL of a turn in milliseconds. */
  readonly max_age_ms: number;
}

/** Characters counted for an entry beside its text. */
const entry_characters = 100;

interface Entry {
  readonly text: string;
  readonly kept_ms: number;
}

/**
 * An LRU cache, in this process, of signed or encrypted reasoning that an upstream wants to see again after a tool call, and for which the
 * canonical form has no field. The key is the calls, whose ids cannot be guessed. Bounded by characters, where LRU libraries bound entries.
 */
export class ReasoningCache<Value> {
  readonly #limits: ReasoningCacheLimits;
  readonly #now: () => number;
  /** In the order of their last use. */
  readonly #entries = new Map<string, Entry>();
  #characters = 0;

  constructor(limits: ReasoningCacheLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  /** Size of the cache, counted as in `max_characters`. */
  get characters(): number {
    return this.#characters;
  }

  /** Stores `value`, plain JSON, for the turn that made these calls. */
  keep(calls: readonly ToolCall[], value: Value): void {
    if (calls.length === 0) return;
    const text = JSON.stringify(value);
    const { max_characters } = this.#limits;
    if (sizeOf(text) > max_characters) return;
    const key = keyOf(calls);
    this.#delete(key);
    this.#entries.set(key, { text, kept_ms: this.#now() });
    this.#characters += sizeOf(text);
    this.#evict();
  }

  /** The value of the turn that made these calls. */
  recall(calls: readonly ToolCall[]): Value | undefined {
    this.#evict();
    if (calls.length === 0 || this.#entries.size === 0) return undefined;
    const key = keyOf(calls);
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#delete(key);
    if (this.#isExpired(entry)) return undefined;
    this.#entries.set(key, entry);
    this.#characters += sizeOf(entry.text);
    return JSON.parse(entry.text) as Value;
  }

  #evict(): void {
    for (const [key, entry] of this.#entries) {
      if (this.#characters <= this.#limits.max_characters && !this.#isExpired(entry)) return;
      this.#delete(key);
    }
  }

  #isExpired({ kept_ms }: Entry): boolean {
    return this.#now() - kept_ms > this.#limits.max_age_ms;
  }

  #delete(key: string): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    this.#characters -= sizeOf(entry.text);
  }
}

const sizeOf = (text: string): number => text.length + entry_characters;

/** Larger arguments are compared as text: to compare values they must be parsed. */
const max_compared = { values: 50_000, keys: 50_000 };

/** Cache key of `calls`. Compares arguments by value, since clients that parse them send them back reformatted. */
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
