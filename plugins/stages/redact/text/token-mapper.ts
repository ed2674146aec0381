import { TextDecoder } from 'node:util';
import { isObject, type Json } from '../../../../src/plugin.ts';
import type { ReplacedSpan, TextReplacer } from './text-replacer.ts';

/** A token whose text is not certain to its end. */
interface HeldToken {
  readonly token: Json;
  /** Characters of its text that are held. */
  length: number;
  isReplaced: boolean;
}

/** More tokens than these on so little text are no log probabilities of it. */
const max_held = 1_000;

/** Log probabilities of one choice, which spell its text again. Drops the tokens of replaced text, and the alternatives that contain any. */
export class TokenMapper {
  readonly #replacer: TextReplacer;
  #held: HeldToken[] = [];
  #text = '';
  /** Joins characters of several tokens. */
  #decoder: TextDecoder | undefined;

  constructor(replacer: TextReplacer) {
    this.#replacer = replacer;
  }

  get isHolding(): boolean {
    return this.#held.length > 0;
  }

  /** Takes tokens; returns those that are certain by now. */
  push(tokens: readonly unknown[]): unknown[] {
    for (const token of tokens) {
      if (!isObject(token)) continue;
      const text = this.#textOf(token);
      this.#held.push({ token, length: text.length, isReplaced: false });
      this.#text += text;
    }
    const certain = this.#release(false);
    if (this.#held.length > max_held) this.drop();
    return certain;
  }

  end(): unknown[] {
    return this.#release(true);
  }

  /** Forgets what is held. */
  drop(): void {
    this.#held = [];
    this.#text = '';
  }

  #release(isEnd: boolean): unknown[] {
    const { spans, until } = this.#replacer.scanLoosely(this.#text, isEnd);
    this.#text = this.#text.slice(until);
    let start = 0;
    let released = 0;
    let at = 0;
    for (const held of this.#held) {
      const end = start + held.length;
      while (at < spans.length && spans[at]!.end <= start) at++;
      held.isReplaced ||= touches(spans[at], start, end);
      if (end <= until) released++;
      else if (start < until) held.length = end - until;
      start = end;
    }
    const certain = isEnd ? this.#held : this.#held.slice(0, released);
    this.#held = isEnd ? [] : this.#held.slice(released);
    return certain.filter(({ isReplaced }) => !isReplaced).map(({ token }) => this.#withoutMatches(token));
  }

  #textOf(token: Json): string {
    if (Array.isArray(token.bytes) && token.bytes.length > 0) {
      this.#decoder ??= new TextDecoder();
      return this.#decoder.decode(Uint8Array.from(token.bytes as number[]), { stream: true });
    }
    return typeof token.token === 'string' ? token.token : '';
  }

  #withoutMatches(token: Json): Json {
    if (!Array.isArray(token.top_logprobs)) return token;
    const kept = token.top_logprobs.filter(
      (other: unknown) =>
        !this.#replacer.scanLoosely(String(isObject(other) && other.token), true).spans.length,
    );
    return kept.length === token.top_logprobs.length ? token : { ...token, top_logprobs: kept };
  }
}

/** Whether a token from `start` to `end` has any of the span; one without text, if it is within it. */
const touches = (span: ReplacedSpan | undefined, start: number, end: number): boolean =>
  span !== undefined && span.start < Math.max(end, start + 1) && span.end > start;
