import {
  type Chunk,
  type ChunkChoice,
  type Completion,
  type Delta,
  eventObject,
  isObject,
  newCallId,
  ReplyAssembler,
  refusal,
  type SseEvent,
  type StreamDecoder,
  type ToolCall,
} from 'sluice/plugin';
import { errorIn } from './errors.ts';
import { geminiFinishOf } from './finish-reason.ts';
import { detailOf, type SignatureMemory } from './signatures.ts';
import { RunningUsage } from './usage.ts';

type Json = Record<string, unknown>;

/** More candidates than any request can ask for. */
const max_candidates = 128;

/** One candidate so far: its calls, and what the API wants back with their results. */
interface Candidate {
  readonly calls: ToolCall[];
  readonly signed: { id?: string; signature?: string }[];
  text_signature?: string;
  /** Number of its signatures. */
  details: number;
  isFinished: boolean;
}

/** Decodes one stream. Every event is a reply of its own, with the parts that were added. */
export class GeminiStream implements StreamDecoder {
  readonly #memory: SignatureMemory;
  readonly #usage = new RunningUsage();
  readonly #candidates = new Map<number, Candidate>();
  #isBlocked = false;

  constructor(memory: SignatureMemory) {
    this.#memory = memory;
  }

  get complete(): boolean {
    if (this.#isBlocked) return true;
    const candidates = [...this.#candidates.values()];
    return candidates.length > 0 && candidates.every(({ isFinished }) => isFinished);
  }

  decode({ data }: SseEvent): Chunk[] {
    return data.trim() === '' ? [] : this.chunksOf(eventObject(data));
  }

  /** Decodes one `GenerateContentResponse`. Throws an UpstreamError if it is an error. */
  chunksOf(reply: Json): Chunk[] {
    const error = errorIn(reply);
    if (error) throw error;
    const usage = this.#usage.seen(reply.usageMetadata);
    const candidates = Array.isArray(reply.candidates) ? reply.candidates.filter(isObject) : [];
    const choices = candidates.slice(0, max_candidates).map((candidate, at) => this.#choice(candidate, at));
    if (choices.length === 0) choices.push(...this.#blocked(reply.promptFeedback));
    if (choices.length === 0 && !usage) return [];
    return [{ choices, ...(usage && { usage }) }];
  }

  /** A prompt that the API does not answer has no candidates. */
  #blocked(feedback: unknown): ChunkChoice[] {
    if (!isObject(feedback) || typeof feedback.blockReason !== 'string' || this.#candidates.size > 0)
      return [];
    this.#isBlocked = true;
    const { blockReason, blockReasonMessage: message } = feedback;
    const refusal = typeof message === 'string' ? message : `The prompt was blocked: ${blockReason}.`;
    return [{ index: 0, delta: { refusal }, finish_reason: 'content_filter' }];
  }

  #choice({ index: given, content, finishReason, finishMessage }: Json, at: number): ChunkChoice {
    const index =
      Number.isInteger(given) && Number(given) >= 0 && Number(given) < max_candidates ? Number(given) : at;
    let candidate = this.#candidates.get(index);
    if (!candidate)
      this.#candidates.set(index, (candidate = { calls: [], signed: [], details: 0, isFinished: false }));
    const parts = isObject(content) && Array.isArray(content.parts) ? content.parts.filter(isObject) : [];
    const delta: Delta = {};
    for (const part of parts) addPart(delta, part, candidate);
    const finish = geminiFinishOf(finishReason, finishMessage);
    if (!finish) return { index, delta, finish_reason: null };
    if (finish.finish_reason === 'content_filter' && typeof finishMessage === 'string')
      delta.refusal = finishMessage;
    if (!candidate.isFinished) this.#keep(candidate);
    candidate.isFinished = true;
    if (finish.finish_reason === 'stop' && candidate.calls.length > 0) finish.finish_reason = 'tool_calls';
    return { index, delta, ...finish };
  }

  #keep({ calls, signed, text_signature: text }: Candidate): void {
    this.#memory.keep(calls, { calls: signed, ...(text !== undefined && { text }) });
  }
}

/** Adds one part: text, a thought, or a whole call. */
function addPart(delta: Delta, part: Json, candidate: Candidate): void {
  const { text, thought, functionCall: call, thoughtSignature } = part;
  const signature = typeof thoughtSignature === 'string' ? thoughtSignature : undefined;
  if (isObject(call) && typeof call.name === 'string' && call.name !== '') {
    const index = candidate.calls.length;
    const isGiven = typeof call.id === 'string' && call.id !== '';
    const id = isGiven ? String(call.id) : newCallId();
    const called = { name: call.name, arguments: JSON.stringify(isObject(call.args) ? call.args : {}) };
    candidate.calls.push({ id, type: 'function', function: called });
    candidate.signed.push({ ...(isGiven && { id }), ...(signature !== undefined && { signature }) });
    (delta.tool_calls ??= []).push({ index, id, type: 'function', function: { ...called } });
    if (signature !== undefined) addSignature(delta, candidate, signature, id);
  } else if (typeof text === 'string') {
    if (thought === true) delta.reasoning = (delta.reasoning ?? '') + text;
    else delta.content = (delta.content ?? '') + text;
    if (signature === undefined || thought === true) return;
    candidate.text_signature = signature;
    addSignature(delta, candidate, signature);
  }
}

/** Adds a signature for clients that keep them. */
function addSignature(delta: Delta, candidate: Candidate, signature: string, id?: string): void {
  (delta.reasoning_details ??= []).push(detailOf(signature, candidate.details++, id));
}

/** Decodes a whole reply as the stream that says the same; an array is a stream without server-sent events. */
export function decodeReply(body: unknown, memory: SignatureMemory): Completion {
  const error = errorIn(body);
  if (error) throw error;
  const stream = new GeminiStream(memory);
  const reply = new ReplyAssembler();
  const parts = Array.isArray(body) ? body : [body];
  for (const part of parts) if (isObject(part)) for (const chunk of stream.chunksOf(part)) reply.add(chunk);
  if (!stream.complete)
    throw refusal('provider_invalid', {
      cause: new Error('a reply without candidates, or one without finishReason'),
    });
  return reply.reply();
}
