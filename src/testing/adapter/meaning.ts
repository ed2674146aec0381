import type {
  Chunk,
  Completion,
  ReasoningDetail,
  ReplyExtras,
  Usage,
} from '../../gateway/exchange/canonical.ts';
import { type Difference, usageDifference } from '../difference.ts';
import { type ChoiceResult, resultOf } from '../result.ts';
import type { AdapterFixture, ExpectedChoice } from './adapter-contract.ts';

/** What a reply says, however it was sent: nothing is said of what is empty. */
export interface Meaning {
  readonly choices: readonly ChoiceMeaning[];
  readonly usage: Usage | undefined;
}

interface ChoiceMeaning {
  readonly index: number;
  readonly content: string;
  readonly reasoning: string;
  readonly refusal: string;
  readonly tool_calls: readonly CallMeaning[];
  readonly finish_reason: string | null;
  readonly logprobs: unknown;
  /** Compared only where the fixture says something of them. */
  readonly stop_sequence: string | undefined;
  readonly reasoning_details: readonly ReasoningDetail[] | undefined;
  readonly annotations: ReplyExtras['annotations'];
  readonly images: ReplyExtras['images'];
  readonly native: ReplyExtras['native'];
}

interface CallMeaning {
  readonly id: string | undefined;
  readonly name: string;
  readonly arguments: string;
}

/** What a stream says. */
export function meaningOf(chunks: readonly Chunk[]): Meaning {
  const { choices, usage } = resultOf(chunks);
  return { choices: choices.map(ofResult), usage };
}

function ofResult({ index, content, reasoning, refusal, tool_calls, ...rest }: ChoiceResult): ChoiceMeaning {
  const { finish_reason, logprobs, stop_sequence, reasoning_details, extras } = rest;
  const { annotations, images, native } = extras;
  const calls = tool_calls.map(callOf);
  const said = { index, content, reasoning, refusal, tool_calls: calls };
  const more = { annotations, images, native };
  return { ...said, finish_reason, logprobs, stop_sequence, reasoning_details, ...more };
}

/** What a whole reply says, or a fixture's author. */
export const meaningOfReply = ({ choices, usage }: Completion | AdapterFixture): Meaning => ({
  choices: choices.map(ofChoice).sort((a, b) => a.index - b.index),
  usage,
});

const ofChoice = ({ index, message, finish_reason, logprobs, ...more }: ExpectedChoice): ChoiceMeaning => ({
  index,
  content: message.content ?? '',
  reasoning: message.reasoning ?? '',
  refusal: message.refusal ?? '',
  tool_calls: (message.tool_calls ?? []).map(callOf),
  finish_reason,
  logprobs: logprobs ?? undefined,
  stop_sequence: more.stop_sequence,
  reasoning_details: message.reasoning_details,
  annotations: message.annotations,
  images: message.images,
  native: message.native,
});

type GivenCall = NonNullable<ExpectedChoice['message']['tool_calls']>[number];

const callOf = ({ id, function: called }: GivenCall): CallMeaning => ({
  id,
  name: called.name,
  arguments: called.arguments,
});

const texts = ['content', 'reasoning', 'refusal'] as const;
const fields = [...texts, 'tool_calls', 'finish_reason', 'logprobs'] as const;
const optionalFields = ['stop_sequence', 'reasoning_details', 'annotations', 'images', 'native'] as const;

/** Where `got` does not say what it should. Ids are compared where `expected` has them. */
export function meaningDifference(expected: Meaning, got: Meaning): Difference | undefined {
  const indexes = ({ choices }: Meaning) => choices.map(({ index }) => index);
  if (!equal(indexes(expected), indexes(got)))
    return { what: 'indexes of the choices', expected: indexes(expected), got: indexes(got) };
  for (const [at, choice] of expected.choices.entries()) {
    const other = withIdsAs(choice, got.choices[at]!);
    const said = optionalFields.filter(field => choice[field] !== undefined);
    for (const field of [...fields, ...said]) {
      if (equal(choice[field], other[field])) continue;
      return { what: `${field} of choice ${choice.index}`, expected: choice[field], got: other[field] };
    }
  }
  if (!expected.usage && got.usage) return { what: 'usage', expected: undefined, got: got.usage };
  return usageDifference(expected.usage, got.usage);
}

function withIdsAs(expected: ChoiceMeaning, got: ChoiceMeaning): ChoiceMeaning {
  const tool_calls = got.tool_calls.map((call, at) =>
    expected.tool_calls[at]?.id === undefined ? { ...call, id: undefined } : call,
  );
  return { ...got, tool_calls };
}

/** A text of `got` that is not the beginning of what the whole reply says. */
export function inventedText(whole: Meaning, got: Meaning): Difference | undefined {
  for (const choice of got.choices) {
    const all = whole.choices.find(({ index }) => index === choice.index);
    for (const field of texts) {
      if (all?.[field].startsWith(choice[field])) continue;
      return { what: `${field} of choice ${choice.index}`, expected: all?.[field], got: choice[field] };
    }
  }
  return undefined;
}

/** The same with ids left out, where a server sends none and every decoding makes new ones. */
export const withoutIds = ({ choices, usage }: Meaning): Meaning => ({
  choices: choices.map(choice => ({
    ...choice,
    tool_calls: choice.tool_calls.map(call => ({ ...call, id: undefined })),
  })),
  usage,
});

const equal = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
