import {
  type ChunkChoice,
  type Completion,
  decodeOpenAiReply,
  isObject,
  type Json,
  OpenAiStreamDecoder,
  type ReasoningCache,
  type ReasoningDetail,
  type ToolCall,
  UpstreamError,
} from '../../../src/plugin.ts';
import { addDetails, detailsIn, isWhole } from './reasoning-details.ts';
import { withSearches } from './web-search.ts';

type Memory = ReasoningCache<readonly ReasoningDetail[]>;

/**
 * Standard status of an error reply: 403 is also sent for prompts flagged by moderation or a guardrail, where the request is at fault, not
 * the key.
 */
export function errorStatus(status: number, body: unknown): number {
  if (status !== 403 || !isObject(body) || !isObject(body.error)) return status;
  const { metadata } = body.error;
  return isObject(metadata) && (Array.isArray(metadata.reasons) || Array.isArray(metadata.patterns))
    ? 400
    : 403;
}

/** Decodes a whole reply. Errors have status 200 once a provider has begun, and their codes are HTTP statuses. */
export function decodeReply(body: unknown, memory: Memory): Completion {
  const told = UpstreamError.in(body);
  if (told) throw new UpstreamError(told.message, told.status && errorStatus(told.status, body));
  const raw = isObject(body) && Array.isArray(body.choices) ? body.choices.filter(isObject) : [];
  for (const choice of raw) throwIfFailed(choice);
  const reply = decodeOpenAiReply(isObject(body) ? { ...body, usage: withSearches(body.usage) } : body);
  for (const [at, { message }] of reply.choices.entries()) {
    const from = raw[at]?.message;
    const details = isObject(from) ? detailsIn(from.reasoning_details) : [];
    if (details.length === 0) continue;
    message.reasoning_details = [...details];
    if (message.tool_calls) memory.keep(message.tool_calls, details);
  }
  return reply;
}

/** Throws if a choice ended in an error of its own. */
function throwIfFailed({ error }: Json): void {
  const told = error == null ? undefined : UpstreamError.in({ error });
  if (told) throw told;
}

/** Reasoning details and calls of a choice so far, needed again with its tools' results. */
interface Turn {
  readonly details: ReasoningDetail[];
  readonly calls: ToolCall[];
  /** Number of details that have been passed on, each whole. */
  shown: number;
}

/** Decodes OpenAI's stream, and stores the reasoning behind tool calls. */
export class OpenRouterStream extends OpenAiStreamDecoder {
  readonly #memory: Memory;
  readonly #turns = new Map<number, Turn>();

  constructor(memory: Memory) {
    super({ errorsHaveStatus: true, usageIn: ({ usage }) => withSearches(usage) });
    this.#memory = memory;
  }

  protected override choice(sent: Json): ChunkChoice {
    throwIfFailed(sent);
    const choice = super.choice(sent);
    const { index, delta, finish_reason } = choice;
    const details = isObject(sent.delta) ? detailsIn(sent.delta.reasoning_details) : [];
    if (details.length > 0) addDetails(this.#turnOf(index).details, details);
    for (const { index: at, id, function: called } of delta.tool_calls ?? []) {
      const { calls } = this.#turnOf(index);
      const call = (calls[at] ??= { id: '', type: 'function', function: { name: '', arguments: '' } });
      call.id ||= id ?? '';
      call.function.name ||= called?.name ?? '';
      call.function.arguments += called?.arguments ?? '';
    }
    const whole = this.#wholeDetails(choice);
    if (finish_reason) this.#keep(index);
    return whole.length === 0 ? choice : { ...choice, delta: { ...delta, reasoning_details: whole } };
  }

  /** The details that are whole with this piece: those before the last, and the last once anything follows it. */
  #wholeDetails({ index, delta, finish_reason }: ChunkChoice): ReasoningDetail[] {
    const turn = this.#turns.get(index);
    const last = turn?.details.at(-1);
    if (!turn || !last) return [];
    const isOver = delta.content || delta.tool_calls || finish_reason;
    const end = isOver || isWhole(last) ? turn.details.length : turn.details.length - 1;
    const whole = turn.details.slice(turn.shown, end).map(detail => ({ ...detail }));
    turn.shown = Math.max(turn.shown, end);
    return whole;
  }

  #keep(index: number): void {
    const turn = this.#turns.get(index);
    this.#turns.delete(index);
    if (turn && turn.details.length > 0) this.#memory.keep(Object.values(turn.calls), turn.details);
  }

  #turnOf(index: number): Turn {
    let turn = this.#turns.get(index);
    if (!turn) this.#turns.set(index, (turn = { details: [], calls: [], shown: 0 }));
    return turn;
  }
}
