import type { Span } from '@opentelemetry/api';

/** Prompts and answers on spans: off unless switched on, and then no more than so many characters of each. */
export interface ContentLimits {
  readonly capture_content: boolean;
  readonly max_content_characters: number;
}

const max_tool_calls = 128;

interface Words {
  readonly content?: unknown;
  readonly reasoning?: string | undefined;
  readonly tool_calls?: unknown;
}

/** Prompt and answer of one attempt for its span, under OpenTelemetry's names. */
export class ContentCapture {
  readonly #span: Span;
  readonly #max_characters: number;
  #text = '';
  #reasoning = '';
  readonly #tool_calls: unknown[] = [];

  /** `undefined` when nothing is captured, which is the default. */
  static of(span: Span, limits: ContentLimits, messages: unknown): ContentCapture | undefined {
    if (!limits.capture_content || !span.isRecording()) return undefined;
    const capture = new ContentCapture(span, limits.max_content_characters);
    span.setAttribute('gen_ai.input.messages', capture.#cut(JSON.stringify(messages)));
    return capture;
  }

  private constructor(span: Span, max_characters: number) {
    this.#span = span;
    this.#max_characters = max_characters;
  }

  /** Adds a piece of the answer, or all of it. */
  said({ content, reasoning, tool_calls }: Words): void {
    if (typeof content === 'string') this.#text = this.#added(this.#text, content);
    if (reasoning !== undefined) this.#reasoning = this.#added(this.#reasoning, reasoning);
    if (Array.isArray(tool_calls))
      this.#tool_calls.push(...tool_calls.slice(0, max_tool_calls - this.#tool_calls.length));
  }

  /** Puts the content on the span, which must not have ended. */
  end(): void {
    const message = {
      role: 'assistant',
      content: this.#text,
      ...(this.#reasoning !== '' && { reasoning: this.#reasoning }),
      ...(this.#tool_calls.length > 0 && { tool_calls: this.#tool_calls }),
    };
    this.#span.setAttribute('gen_ai.output.messages', this.#cut(JSON.stringify([message])));
  }

  /** Adds nothing after it was cut: cutting again for every piece would copy it every time. */
  #added(text: string, more: string): string {
    return text.length > this.#max_characters ? text : this.#cut(text + more);
  }

  #cut(text: string): string {
    return text.length <= this.#max_characters ? text : `${text.slice(0, this.#max_characters)}…`;
  }
}
