import * as fc from 'fast-check';
import {
  type Choice,
  type Chunk,
  type ChunkChoice,
  type Completion,
  type Delta,
  type FinishReason,
  type ReasoningDetail,
  type ReplyMessage,
  type ToolCallDelta,
  usageOf,
} from '../../../../../src/gateway/exchange/canonical.ts';
import { cutAt } from '../../../chunk-stream.ts';

/** Any reply in the canonical form: whole, and the same as a stream that is cut anywhere. */
export interface AnyReply {
  readonly chunks: readonly Chunk[];
  readonly whole: Completion;
  /** Whether each choice says reasoning, content, refusal and calls one after the other, as a whole reply has them. */
  readonly isOrdered: boolean;
  /** Whether all reasoning of the first choice is told block by block, or none of it. */
  readonly isSignedAlike: boolean;
}

type Piece = Pick<ChunkChoice, 'delta' | 'logprobs'>;
/** Decides by numbers that fast-check has drawn. */
type Turn = (below: number) => number;
const turnOf = (numbers: readonly number[]): Turn => {
  let at = 0;
  return below => numbers[at++ % numbers.length]! % below;
};

const text = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }),
  fc.constantFrom('\n', '\nOne.', '🌊', '"\\'),
);
/** Where a text is cut; the same place twice makes an empty piece. */
const cuts = fc.array(
  fc.integer({ min: 0, max: 7 }).map(eighth => eighth / 8),
  { maxLength: 4 },
);
const detailOf: Readonly<Record<string, (text: string) => ReasoningDetail>> = {
  claude: text => ({ type: 'reasoning.text', text, signature: 'c2ln', format: 'anthropic-claude-v1' }),
  gemini: text => ({ type: 'reasoning.text', text, signature: 'Z28=', format: 'google-gemini-v1', index: 2 }),
  unsigned: text => ({ type: 'reasoning.text', text }),
  summary: summary => ({ type: 'reasoning.summary', summary, format: 'openai-responses-v1', id: 'rs_1' }),
};
const encrypted: ReasoningDetail = {
  type: 'reasoning.encrypted',
  data: 'ZGF0YQ==',
  format: 'anthropic-claude-v1',
};

/** A text of reasoning, or a signature that shows none. */
const thought = fc.record({
  text: fc.option(text, { nil: '', freq: 8 }),
  detail: fc.constantFrom(...Object.keys(detailOf)),
  isEncrypted: fc.boolean(),
  places: cuts,
});
const said = fc.record({ text, places: cuts });
const call = fc.record({
  id: fc.constantFrom('call_a', 'call_b', 'call_a_2', ''),
  name: fc.constantFrom('roll', 'crm__lookup', 'note'),
  /** After its first arguments. */
  isNamedLate: fc.boolean(),
  given: fc.oneof(
    fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 }),
    fc.record({ input: text }),
    fc.constant(undefined),
  ),
  space: fc.constantFrom('', ' '),
  missing: fc.nat(4),
  places: cuts,
});
const choicePlan = fc.record({
  thoughts: fc.array(thought, { maxLength: 3 }),
  signed: fc.constantFrom('all', 'none', 'some'),
  separator: fc.constantFrom('\n', ''),
  contents: fc.array(said, { maxLength: 3 }),
  refusals: fc.array(said, { maxLength: 1 }),
  calls: fc.array(call, { maxLength: 3 }),
  hasLogprobs: fc.boolean(),
  finish: fc.constantFrom<FinishReason>(
    'stop',
    'stop',
    'tool_calls',
    'tool_calls',
    'length',
    'content_filter',
  ),
  isStopped: fc.boolean(),
  endsAlone: fc.boolean(),
});
type Drawn<T> = T extends fc.Arbitrary<infer Value> ? Value : never;
type ChoicePlan = Drawn<typeof choicePlan>;

/** Pieces of reasoning with their details behind them; the details as well. */
function reasoningOf({ thoughts, signed, separator }: ChoicePlan) {
  const isLoose = thoughts.slice(1).every(({ text }) => !text.startsWith('\n'));
  const between = separator === '' && isLoose ? '' : '\n';
  const details: ReasoningDetail[] = [];
  const pieces: Piece[] = [];
  let reasoning = '';
  for (const [at, { text: given, detail, isEncrypted, places }] of thoughts.entries()) {
    // Behind a signature without a text a line break would be taken for what separates two texts.
    const text = at > 0 && reasoning === '' ? given.replace(/^\n+/, 'a') : given;
    const isSigned = signed === 'all' || (signed === 'some' && at % 2 === 0);
    if (text !== '') {
      const whole = (reasoning === '' ? '' : between) + text;
      reasoning += whole;
      for (const piece of cutAt(whole, places)) pieces.push({ delta: { reasoning: piece } });
    }
    const own = [
      ...(isSigned ? [detailOf[text === '' ? 'claude' : detail]!(text)] : []),
      ...(signed !== 'none' && isEncrypted ? [encrypted] : []),
    ];
    for (const one of own) pieces.push({ delta: { reasoning_details: [one] } });
    details.push(...own);
  }
  return { pieces, reasoning, details };
}

const entry = (token: string) => ({ token, logprob: -0.5, bytes: [...Buffer.from(token)], top_logprobs: [] });

function textsOf(field: 'content' | 'refusal', texts: readonly Drawn<typeof said>[], hasLogprobs: boolean) {
  const pieces = texts.flatMap(({ text, places }) => cutAt(text, places));
  return pieces.map((piece): Piece => {
    const logprobs = hasLogprobs && piece !== '' ? { logprobs: { content: [entry(piece)] } } : {};
    return { delta: { [field]: piece }, ...logprobs };
  });
}

/** The pieces of a call: those up to its name, and the others. */
function callOf({ calls, finish }: ChoicePlan, index: number) {
  const { id, name, isNamedLate, given, space, missing, places } = calls[index]!;
  const json = given === undefined ? '' : space + JSON.stringify(given);
  const isCut = finish === 'length' && index === calls.length - 1;
  const args = isCut ? json.slice(0, Math.max(0, json.length - missing)) : json;
  const [first = '', ...rest] = cutAt(args, places);
  const of = (piece: Omit<ToolCallDelta, 'index'>): Piece => ({
    delta: { tool_calls: [{ index, ...piece }] },
  });
  const more = rest.map(text => of({ function: { arguments: text } }));
  const begin = { id, type: 'function' as const };
  const opening = isNamedLate
    ? [
        of({ ...begin, function: { arguments: first } }),
        ...more.splice(0, 1),
        of({ function: { name, arguments: '' } }),
      ]
    : [of({ ...begin, function: { name, arguments: first } })];
  return { opening, more, whole: { ...begin, function: { name, arguments: args } } };
}

/** The queues as one, each in its own order. A call comes after the opening of those before it. */
function interleaved(texts: Piece[], calls: readonly ReturnType<typeof callOf>[], turn: Turn): Piece[] {
  const merged: Piece[] = [];
  let opened = 0;
  const opening = calls.map(call => [...call.opening]);
  const more = calls.map(call => [...call.more]);
  for (;;) {
    while (opening[opened]?.length === 0) opened++;
    const queues = [texts, opening[opened] ?? [], ...more.slice(0, opened)].filter(queue => queue.length > 0);
    if (queues.length === 0) return merged;
    merged.push(queues[turn(queues.length)]!.shift()!);
  }
}

/** Several queues of texts as one. */
function mixed(queues: readonly (readonly Piece[])[], turn: Turn): Piece[] {
  const left = queues.map(queue => [...queue]);
  const merged: Piece[] = [];
  for (;;) {
    const some = left.filter(queue => queue.length > 0);
    if (some.length === 0) return merged;
    merged.push(some[turn(some.length)]!.shift()!);
  }
}

const ranks = ['reasoning', 'reasoning_details', 'content', 'refusal', 'tool_calls'];
const rankOf = ({ delta }: Piece, most: boolean) =>
  Math[most ? 'max' : 'min'](...Object.keys(delta).map(name => ranks.indexOf(name)));

/** Whether the detail of a text ends, and more reasoning follows: some servers tell both at once. */
const isNextThought = ({ delta: { reasoning_details: [one, ...more] = [], ...rest } }: Piece, piece: Piece) =>
  Boolean(one?.text || one?.summary) && more.length + Object.keys(rest).length === 0 && piece.delta.reasoning;

/** Some of the pieces in one delta with the one before them, where the order of its fields allows it. */
function grouped(pieces: readonly Piece[], turn: Turn): Piece[] {
  const groups: Piece[] = [];
  for (const piece of pieces) {
    const before = groups.at(-1);
    const rank = before ? rankOf(before, true) : 9;
    const isCalls = rank === 4 && piece.delta.tool_calls;
    if (before && turn(3) === 0 && (rank < rankOf(piece, false) || isCalls || isNextThought(before, piece))) {
      const tool_calls = [...(before.delta.tool_calls ?? []), ...(piece.delta.tool_calls ?? [])];
      const delta: Delta = { ...before.delta, ...piece.delta, ...(tool_calls.length > 0 && { tool_calls }) };
      groups[groups.length - 1] = { ...before, ...piece, delta };
    } else groups.push(piece);
  }
  return groups;
}

/** One choice: what its chunks say, and the whole of it. */
function choiceOf(plan: ChoicePlan, index: number, isOrdered: boolean, turn: Turn) {
  const { contents, refusals, hasLogprobs, finish: finish_reason, isStopped, endsAlone } = plan;
  const { pieces: thinking, reasoning, details } = reasoningOf(plan);
  const content = textsOf('content', contents, hasLogprobs);
  const refusal = textsOf('refusal', refusals, false);
  const calls = plan.calls.map((_, at) => callOf(plan, at));
  // Where a limit cuts the reply off, a call is whole before the next begins.
  const isInTurn = isOrdered && (finish_reason === 'length' || finish_reason === 'content_filter');
  const called = isInTurn
    ? calls.flatMap(({ opening, more }) => [...opening, ...more])
    : interleaved([], calls, turn);
  const all = isOrdered
    ? [...thinking, ...content, ...refusal, ...called]
    : interleaved(mixed([thinking, content, refusal], turn), calls, turn);
  const stop = finish_reason === 'stop' && isStopped ? { stop_sequence: '###' } : {};
  const pieces = grouped(all, turn).map((piece): ChunkChoice => ({ index, ...piece, finish_reason: null }));
  const start: ChunkChoice = { index, delta: { role: 'assistant', content: '' }, finish_reason: null };
  const last = endsAlone || pieces.length === 0 ? { index, delta: {} } : pieces.pop()!;
  const entries = content.flatMap(
    ({ logprobs }) => (logprobs as { content: object[] } | undefined)?.content ?? [],
  );
  const joined = (texts: typeof contents) => texts.map(({ text }) => text).join('') || null;
  const message: ReplyMessage = {
    role: 'assistant',
    content: joined(contents) ?? (calls.length > 0 || refusals.length > 0 ? null : ''),
    ...(reasoning !== '' && { reasoning }),
    ...(details.length > 0 && { reasoning_details: details }),
    ...(calls.length > 0 && { tool_calls: calls.map(({ whole }) => whole) }),
    ...(refusals.length > 0 && { refusal: joined(refusals) }),
  };
  const logprobs = entries.length > 0 ? { logprobs: { content: entries } } : {};
  const choice: Choice = { index, message, finish_reason, ...stop, ...logprobs };
  return { pieces: [start, ...pieces, { ...last, finish_reason, ...stop }], choice };
}

/** The pieces of all choices as chunks, at most one of each choice in a chunk. */
function chunksOf(queues: readonly ChunkChoice[][], turn: Turn): Chunk[] {
  const chunks: Chunk[] = [];
  for (;;) {
    const left = queues.filter(queue => queue.length > 0);
    if (left.length === 0) return chunks;
    const taken = left.filter(() => turn(2) === 0);
    chunks.push({ choices: (taken.length > 0 ? taken : [left[0]!]).map(queue => queue.shift()!) });
  }
}

const finalUsage = (counted: number) => usageOf(20, counted, 5, { reasoning_tokens: 2 }, 3);

export const anyReply: fc.Arbitrary<AnyReply> = fc
  .record({
    plans: fc.array(choicePlan, { minLength: 1, maxLength: 3 }),
    isOrdered: fc.boolean(),
    usage: fc.constantFrom('at the finish', 'after it', 'none'),
    isRunning: fc.boolean(),
    numbers: fc.array(fc.nat(999), { minLength: 30, maxLength: 30 }),
  })
  .map(({ plans, isOrdered, usage: told, isRunning, numbers }): AnyReply => {
    const turn = turnOf(numbers);
    const choices = plans.map((plan, at) => choiceOf(plan, at, isOrdered, turn));
    const chunks = chunksOf(
      choices.map(({ pieces }) => [...pieces]),
      turn,
    );
    const usage = told === 'none' ? {} : { usage: finalUsage(chunks.length) };
    if (told !== 'none' && isRunning)
      for (const [at, chunk] of chunks.entries()) chunk.usage = usageOf(20, at);
    if (told === 'at the finish') Object.assign(chunks.at(-1)!, usage);
    if (told === 'after it') chunks.push({ choices: [], ...usage });
    const { thoughts, signed } = plans[0]!;
    return {
      chunks,
      whole: { choices: choices.map(({ choice }) => choice), ...usage },
      isOrdered,
      isSignedAlike: signed !== 'some' || thoughts.length === 0,
    };
  });
