import { isObject, type Json } from '../../common/json-object.ts';
import { TokenEstimator } from '../../gateway/settlement/token-estimator.ts';
import { bytes_per_token } from './request-meter.ts';

/** Members with generated text, in the formats that servers have for completions, messages and responses. */
const text_names: ReadonlySet<string> = new Set([
  ...['text', 'content', 'reasoning', 'reasoning_content', 'thinking', 'refusal', 'transcript'],
  ...['arguments', 'partial_json', 'delta', 'response', 'completion', 'output_text', 'generated_text'],
]);
/** Choices that are counted apart, so that their words do not join. */
const max_choices = 64;
const max_depth = 12;

/** Counts the generated text in objects of any known format, each choice apart. */
export class TextTally {
  /** Events that were added. */
  events = 0;
  readonly #estimators: TokenEstimator[] = [];

  /** Adds the text of an event or a whole reply. An event that says again what others have said adds none. */
  add(value: unknown): void {
    this.events++;
    if (isObject(value) && typeof value.type === 'string' && value.type.endsWith('.done')) return;
    this.#walk(value, 0, 0);
  }

  /** Tokens of the text so far. */
  get tokens(): number {
    let tokens = 0;
    for (const estimator of this.#estimators) tokens += estimator?.tokens ?? 0;
    return tokens;
  }

  #walk(value: unknown, choice: number, depth: number): void {
    if (depth > max_depth) return;
    if (Array.isArray(value)) {
      for (const item of value) this.#walk(item, indexOf(item) ?? choice, depth + 1);
    } else if (isObject(value)) {
      for (const [name, member] of Object.entries(value))
        if (typeof member !== 'string') this.#walk(member, choice, depth + 1);
        else if (text_names.has(name)) this.#estimator(choice).add(member);
    }
  }

  #estimator(choice: number): TokenEstimator {
    return (this.#estimators[choice % max_choices] ??= new TokenEstimator());
  }
}

const indexOf = (item: unknown): number | undefined =>
  isObject(item) && Number.isSafeInteger(item.index) && (item.index as number) >= 0
    ? (item.index as number)
    : undefined;

/** Bytes of a reply that are held for an estimate of its text. */
const max_held_bytes = 64 * 1024;

/** The text of a whole reply, whose beginning is held. */
export class HeldText {
  #held: Buffer[] = [];
  #held_bytes = 0;
  #bytes = 0;

  write(part: Buffer): void {
    this.#bytes += part.length;
    const left_bytes = max_held_bytes - this.#held_bytes;
    if (left_bytes <= 0) return;
    const kept = Buffer.from(part.subarray(0, left_bytes));
    this.#held.push(kept);
    this.#held_bytes += kept.length;
  }

  /** Estimated tokens of the text in JSON, or of plain text; 0 of what is longer than is held. */
  get known_tokens(): number {
    return this.#bytes === this.#held_bytes ? textTokens(this.#begin()) : 0;
  }

  /** The same; else, of what is longer or unknown, by its bytes that are no numbers. */
  get tokens(): number {
    const known = this.known_tokens;
    const text = this.#begin();
    if (known > 0 || text === '') return known;
    const letters = text.replace(/[\d\s.,:+\-eE"[\]{}]/g, '').length / text.length;
    return Math.ceil((this.#bytes * letters) / bytes_per_token);
  }

  #begin(): string {
    return Buffer.concat(this.#held).toString('utf8');
  }
}

/** Tokens of the text in a reply; 0 if it is broken JSON, or JSON without any that is known. */
function textTokens(text: string): number {
  if (/^\s*[[{]/.test(text)) return jsonTokens(text);
  const estimator = new TokenEstimator();
  estimator.add(text);
  return estimator.tokens;
}

function jsonTokens(text: string): number {
  try {
    const tally = new TextTally();
    tally.add(JSON.parse(text) as Json);
    return tally.tokens;
  } catch {
    return 0;
  }
}
