import type { Span } from '@opentelemetry/api';
import type { Delta, Message, ReplyMessage, ToolCallDelta } from '../../exchange/canonical.ts';
import { CapturedText } from './captured-text.ts';

/** Prompts and answers on spans: off unless switched on, and then no more than so many characters of each. */
export interface ContentLimits {
  readonly capture_content: boolean;
  readonly max_content_characters: number;
}

const max_choices = 128;
const max_tool_calls = 128;

/** One choice of the answer, as far as it was captured. */
interface CapturedChoice {
  text: string;
  reasoning: string;
  readonly calls: Map<number, { id?: string | undefined; name: string; arguments: string }>;
}

/** Prompt and answer of one attempt for its span, in the form of the GenAI conventions: messages of parts, as JSON. */
export class ContentCapture {
  readonly #span: Span;
  readonly #kept: CapturedText;
  readonly #choices = new Map<number, CapturedChoice>();
  #calls = 0;

  /** `undefined` when nothing is captured, which is the default. */
  static of(span: Span, limits: ContentLimits, messages: readonly Message[]): ContentCapture | undefined {
    if (!limits.capture_content || !span.isRecording()) return undefined;
    const prompt = new CapturedText(limits.max_content_characters);
    span.setAttribute('gen_ai.input.messages', JSON.stringify(capturedPrompt(messages, prompt)));
    return new ContentCapture(span, new CapturedText(limits.max_content_characters));
  }

  private constructor(span: Span, kept: CapturedText) {
    this.#span = span;
    this.#kept = kept;
  }

  /** Adds a piece of one choice of the answer, or all of it. */
  said(index: number, { content, reasoning, tool_calls }: Delta | ReplyMessage): void {
    if (this.#kept.isFull) return;
    const choice = this.#choiceAt(index);
    if (!choice) return;
    if (typeof content === 'string') choice.text += this.#kept.cut(content);
    if (reasoning !== undefined) choice.reasoning += this.#kept.cut(reasoning);
    tool_calls?.forEach((call, at) => {
      this.#called(choice, 'index' in call ? call.index : at, call);
    });
  }

  /** Puts the answer on the span, which must not have ended. `finish_reasons` are by choice. */
  end(finish_reasons: readonly string[] = []): void {
    const messages = [...this.#choices]
      .sort(([one], [other]) => one - other)
      .map(([index, { text, reasoning, calls }]) => ({
        role: 'assistant',
        parts: [
          ...(reasoning === '' ? [] : [{ type: 'reasoning', content: reasoning }]),
          ...(text === '' ? [] : [{ type: 'text', content: text }]),
          ...[...calls.values()].map(call => ({ type: 'tool_call', ...call })),
        ],
        finish_reason: finish_reasons[index] ?? 'error',
      }));
    this.#span.setAttribute('gen_ai.output.messages', JSON.stringify(messages));
  }

  #choiceAt(index: number): CapturedChoice | undefined {
    let choice = this.#choices.get(index);
    if (!choice && this.#choices.size < max_choices)
      this.#choices.set(index, (choice = { text: '', reasoning: '', calls: new Map() }));
    return choice;
  }

  #called({ calls }: CapturedChoice, at: number, { id, function: called }: Partial<ToolCallDelta>): void {
    let call = calls.get(at);
    if (!call) {
      if (this.#calls === max_tool_calls) return;
      this.#calls++;
      calls.set(at, (call = { name: '', arguments: '' }));
    }
    if (id !== undefined) call.id = this.#kept.cut(id);
    if (called?.name !== undefined) call.name += this.#kept.cut(called.name);
    if (called?.arguments !== undefined) call.arguments += this.#kept.cut(called.arguments);
  }
}

/** The messages from the first on, as far as there is room. */
function capturedPrompt(messages: readonly Message[], kept: CapturedText): object[] {
  const captured: object[] = [];
  for (const message of messages) {
    if (!kept.takes()) break;
    captured.push({ role: message.role, parts: partsOf(message, kept) });
  }
  return captured;
}

function partsOf({ content, reasoning, tool_calls, tool_call_id }: Message, kept: CapturedText): object[] {
  const parts: object[] = [];
  if (reasoning !== undefined) parts.push({ type: 'reasoning', content: kept.cut(reasoning) });
  for (const part of typeof content === 'string'
    ? [{ type: 'text' as const, text: content }]
    : (content ?? [])) {
    if (!kept.takes()) break;
    if (part.type === 'image_url')
      parts.push({ type: 'uri', modality: 'image', uri: kept.cut(part.image_url.url) });
    else if (tool_call_id === undefined) parts.push({ type: 'text', content: kept.cut(part.text) });
    else {
      const id = kept.cut(tool_call_id);
      parts.push({ type: 'tool_call_response', id, response: kept.cut(part.text) });
    }
  }
  for (const { id, function: called } of tool_calls ?? []) {
    if (!kept.takes()) break;
    const { name, arguments: given } = called;
    parts.push({ type: 'tool_call', id: kept.cut(id), name: kept.cut(name), arguments: kept.cut(given) });
  }
  return parts;
}
