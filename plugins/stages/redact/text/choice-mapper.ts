import {
  type ChunkChoice,
  type Delta,
  encryptedDetails,
  type ReplyExtras,
  type ToolCallDelta,
} from '../../../../src/plugin.ts';
import { ArgumentsMapper } from './arguments-mapper.ts';
import { LogprobsMapper } from './logprobs-mapper.ts';
import { PlainTextMapper, type TextReplacer } from './text-replacer.ts';

const textKinds = ['reasoning', 'content', 'refusal'] as const;
type TextKind = (typeof textKinds)[number];
type Kind = TextKind | 'tool_calls';

/** Maps the texts of one choice of a stream. Text of one kind is released whole before that of another begins. */
export class ChoiceMapper {
  readonly #index: number;
  readonly #replacer: TextReplacer;
  readonly #window: number;
  readonly #texts: Partial<Record<TextKind, PlainTextMapper>> = {};
  readonly #calls = new Map<number, ArgumentsMapper>();
  /** Calls whose arguments are held. */
  readonly #openCalls = new Set<number>();
  #logprobs: LogprobsMapper | undefined;
  /** The kind of text that came last: no other is held. */
  #current: Kind | undefined;

  constructor(index: number, replacer: TextReplacer, window: number) {
    this.#index = index;
    this.#replacer = replacer;
    this.#window = window;
  }

  /** Maps one choice of a chunk; undefined if nothing of it is certain yet. What has to be sent before it is added to `before`. */
  map(choice: ChunkChoice, before: ChunkChoice[]): ChunkChoice | undefined {
    const { delta, finish_reason, logprobs } = choice;
    const kinds = kindsIn(delta);
    const isOther = kinds.length > 0 && this.#current !== undefined && kinds[0] !== this.#current;
    const rest = isOther ? this.end() : undefined;
    if (rest) before.push(rest);
    const mapped: Delta = { ...delta };
    dropReadable(mapped);
    if (delta.native || delta.annotations) dropMatched(mapped, this.#replacer);
    for (const [at, kind] of kinds.entries()) {
      this.#current = kind;
      if (kind === 'tool_calls') mapped.tool_calls = this.#mapCalls(delta.tool_calls!);
      else mapped[kind] = this.#textOf(kind).push(delta[kind]!);
      if (at < kinds.length - 1 || finish_reason) this.#endInto(mapped);
    }
    if (finish_reason && kinds.length === 0) this.#endInto(mapped);
    for (const kind of kinds) if (mapped[kind]?.length === 0) delete mapped[kind];
    const shown = this.#mapLogprobs(logprobs, finish_reason !== null);
    const isEmpty = Object.keys(mapped).length === 0 && shown == null;
    if (isEmpty && !finish_reason && (kinds.length > 0 || logprobs != null)) return undefined;
    const { logprobs: _, ...others } = choice;
    return { ...others, delta: mapped, ...(shown !== undefined && { logprobs: shown }) };
  }

  /** What is held back, if anything. */
  end(): ChunkChoice | undefined {
    const delta: Delta = {};
    this.#endInto(delta);
    const logprobs = this.#logprobs?.isHolding ? this.#logprobs.map(undefined, true) : undefined;
    if (Object.keys(delta).length === 0 && !logprobs) return undefined;
    return { index: this.#index, delta, finish_reason: null, ...(logprobs && { logprobs }) };
  }

  /** Adds the held text of the current kind. */
  #endInto(delta: Delta): void {
    const kind = this.#current;
    if (kind === 'tool_calls') {
      const rest = this.#endCalls();
      if (rest.length > 0) delta.tool_calls = [...(delta.tool_calls ?? []), ...rest];
    } else if (kind && this.#texts[kind]?.isHolding)
      delta[kind] = (delta[kind] ?? '') + this.#texts[kind].end();
  }

  #textOf(kind: TextKind): PlainTextMapper {
    return (this.#texts[kind] ??= new PlainTextMapper(this.#replacer));
  }

  #mapCalls(calls: readonly ToolCallDelta[]): ToolCallDelta[] {
    const mapped: ToolCallDelta[] = [];
    for (const call of calls) {
      const { index, id, function: called } = call;
      const isNew = id !== undefined || called?.name !== undefined;
      if (isNew) mapped.push(...this.#endCalls(index));
      const piece = called?.arguments;
      if (!piece) {
        mapped.push(call);
        continue;
      }
      // An escape in arguments is spelled out in log probabilities.
      if (piece.includes('\\')) (this.#logprobs ??= new LogprobsMapper(this.#replacer)).drop();
      const text = this.#argumentsOf(index).push(piece);
      if (this.#argumentsOf(index).isHolding) this.#openCalls.add(index);
      else this.#openCalls.delete(index);
      if (isNew || text !== '') mapped.push({ ...call, function: { ...called, arguments: text } });
    }
    return mapped;
  }

  #argumentsOf(index: number): ArgumentsMapper {
    let call = this.#calls.get(index);
    if (!call) this.#calls.set(index, (call = new ArgumentsMapper(this.#replacer, this.#window)));
    return call;
  }

  /** The rest of the arguments of all calls, but of the one with the index `except`. */
  #endCalls(except?: number): ToolCallDelta[] {
    const rest: ToolCallDelta[] = [];
    for (const index of this.#openCalls) {
      if (index === except) continue;
      this.#openCalls.delete(index);
      const text = this.#argumentsOf(index).end();
      if (text !== '') rest.push({ index, function: { arguments: text } });
    }
    return rest;
  }

  #mapLogprobs(logprobs: unknown, isEnd: boolean): unknown {
    if (logprobs == null && !(isEnd && this.#logprobs?.isHolding)) return logprobs;
    return (this.#logprobs ??= new LogprobsMapper(this.#replacer)).map(logprobs, isEnd);
  }
}

/** The kinds of text in a delta, in the order in which they are read. */
function kindsIn(delta: Delta): Kind[] {
  const kinds: Kind[] = textKinds.filter(kind => delta[kind]);
  if (delta.tool_calls?.length) kinds.push('tool_calls');
  return kinds;
}

/** Removes citations and items of hosted tools that have text to be replaced. */
export function dropMatched(from: ReplyExtras, replacer: TextReplacer): void {
  for (const name of ['native', 'annotations'] as const) {
    const kept = from[name]?.filter(one => !hasMatch(one, replacer));
    if (kept?.length === 0) delete from[name];
    else if (kept) from[name] = kept as never;
  }
}

/** Whether a value has text to be replaced. */
export function hasMatch(value: unknown, replacer: TextReplacer): boolean {
  const said = JSON.stringify(value);
  return replacer.replaceAll(said) !== said;
}

/** Removes signed reasoning whose text can be read: it says again what has been mapped. Encrypted reasoning stays. */
export function dropReadable(from: Pick<Delta, 'reasoning_details'>): void {
  if (!from.reasoning_details) return;
  const encrypted = encryptedDetails(from.reasoning_details);
  if (encrypted) from.reasoning_details = encrypted;
  else delete from.reasoning_details;
}
