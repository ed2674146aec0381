import { hash } from 'node:crypto';
import { exceeds } from './json-size.ts';
import { MemoryCache } from './memory-cache.ts';

/** What is read of the call of a tool. */
interface ToolCall {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

/** How much a cache keeps, and for how long. */
export interface ReasoningCacheLimits {
  /** Characters of JSON, and a hundred for every turn. */
  readonly max_characters: number;
  /** TTL of a turn in milliseconds. */
  readonly max_age_ms: number;
}

/**
 * An LRU cache, in this process, of signed or encrypted reasoning that an upstream wants to see again after a tool call, and that most
 * clients do not keep. The key is the calls, whose ids cannot be guessed. A call whose id is made of its name and a number, such as
 * `functions.roll:0`, is the same in other conversations, also of other accounts; its turn is not kept.
 */
export class ReasoningCache<Value> {
  readonly #max_age_ms: number;
  readonly #texts: MemoryCache;

  constructor({ max_characters, max_age_ms }: ReasoningCacheLimits, now?: () => number) {
    this.#max_age_ms = max_age_ms;
    this.#texts = new MemoryCache(max_characters, now);
  }

  /** Size of the cache, counted as in `max_characters`. */
  get characters(): number {
    return this.#texts.characters;
  }

  /** Stores `value`, plain JSON, for the turn that made these calls; not if all their ids can be guessed, such as `call_0`. */
  keep(calls: readonly ToolCall[], value: Value): void {
    if (calls.length > 0 && !calls.every(isNumbered))
      this.#texts.set(keyOf(calls), JSON.stringify(value), this.#max_age_ms);
  }

  /** The value of the turn that made these calls. */
  recall(calls: readonly ToolCall[]): Value | undefined {
    // Comparing calls costs more than looking.
    if (calls.length === 0 || this.#texts.characters === 0) return undefined;
    const text = this.#texts.get(keyOf(calls));
    return text === undefined ? undefined : (JSON.parse(text) as Value);
  }
}

/** Characters of an id beside the name that make it the only one. */
const least_own_characters = 8;

/** Whether the id of a call can be guessed: a number, its name, or both, with a word before them. */
function isNumbered({ id, function: { name } }: ToolCall): boolean {
  const own = id.replace(name, '').replace(/functions?|tool|call|[^a-z0-9]/gi, '');
  return own.length < least_own_characters;
}

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
