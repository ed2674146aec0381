import type { Usage } from '../gateway/exchange/canonical.ts';
import type { Change } from './contract-options.ts';
import { ChoiceResult, type Result } from './result.ts';
import { readable, sameText, toolCalls } from './same-text.ts';

/** What is not as it should be. */
export interface Difference {
  readonly what: string;
  readonly expected: unknown;
  readonly got: unknown;
}

type Field = 'role' | 'order' | (typeof said)[number];

const said = ['reasoning', 'content', 'refusal', 'tool_calls', 'tokens', 'finish_reason'] as const;

const titles: Partial<Record<Field, string>> = { order: 'order of kinds', tokens: 'logprobs' };

/** Where two results differ that should be the same. */
export function differenceOf(expected: Result, got: Result, ordered = false): Difference | undefined {
  const fields = ordered ? [...said, 'order' as const] : said;
  for (const [one, other] of pairs(expected, got)) {
    for (const field of fields) {
      if (!equal(one[field], other[field])) return difference(field, one, other);
    }
  }
  return undefined;
}

/** Where usage differs, if the first has any. */
export function usageDifference(expected: Usage | undefined, got: Usage | undefined): Difference | undefined {
  if (!expected || equal(inOrder(expected), got && inOrder(got))) return undefined;
  return { what: 'usage', expected, got };
}

const inOrder = (usage: Usage) => [
  usage.prompt_tokens,
  usage.completion_tokens,
  usage.total_tokens,
  usage.prompt_tokens_details.cached_tokens,
  usage.completion_tokens_details ?? null,
];

/** What of `given`, the upstream's, has not come out as it was, apart from tags and what the stage changes on purpose. */
export function lossOf(given: Result, got: Result, changes: ReadonlySet<Change>): Difference | undefined {
  for (const [before, after] of pairs(given, got)) {
    const lost = (field: Field) =>
      equal(before[field], after[field]) ? undefined : difference(field, before, after);
    const texts = () => {
      if (changes.has('text')) return undefined;
      if (changes.has('content')) return lost('reasoning') ?? lost('refusal');
      return textLoss(before, after) ?? lost('refusal') ?? lost('tokens');
    };
    const found =
      texts() ??
      (changes.has('tool_calls') ? undefined : callLoss(before, after, changes.has('text'))) ??
      (changes.has('finish_reason') ? undefined : (lost('finish_reason') ?? endLoss(before, after))) ??
      (before.role && !after.role ? difference('role', before, after) : undefined);
    if (found) return found;
  }
  return undefined;
}

function textLoss(before: ChoiceResult, after: ChoiceResult): Difference | undefined {
  if (sameText(before.text, after.text) || sameText(withoutBareSpace(before.text), after.text))
    return undefined;
  const what = `text of choice ${before.index} (in these texts | stands for a think tag, or for the place where reasoning turns into content)`;
  return { what, expected: readable(before.text), got: readable(after.text) };
}

/** Arguments are text. */
function callLoss(before: ChoiceResult, after: ChoiceResult, mayChangeText: boolean): Difference | undefined {
  const shownOf = ({ tool_calls }: ChoiceResult) =>
    mayChangeText ? tool_calls.map(({ id, function: { name } }) => [id, name]) : tool_calls;
  return equal(shownOf(before), shownOf(after)) ? undefined : difference('tool_calls', before, after);
}

/** Whitespace before a tool call or the end may be what stands around a tag that the prompt has taken. */
function withoutBareSpace(text: string): string {
  const rest = text.trimStart();
  return rest === '' || rest.startsWith(toolCalls.text) ? rest : text;
}

/** A choice may end as often as the upstream said it, not more, and last if the upstream said it last. */
function endLoss(before: ChoiceResult, after: ChoiceResult): Difference | undefined {
  const isLast = ({ order }: ChoiceResult) => order.at(-1) === 'finish_reason';
  if (isLast(before) && !isLast(after)) return difference('order', before, after);
  if (after.finishes <= before.finishes) return undefined;
  const what = `number of chunks with a finish_reason of choice ${before.index}`;
  return { what, expected: before.finishes, got: after.finishes };
}

function difference(field: Field, one: ChoiceResult, other: ChoiceResult): Difference {
  const what = `${titles[field] ?? field} of choice ${one.index}`;
  return { what, expected: one[field], got: other[field] };
}

function* pairs(a: Result, b: Result): Generator<[ChoiceResult, ChoiceResult]> {
  const indexes = new Set([...a.choices, ...b.choices].map(({ index }) => index));
  const choiceOf = ({ choices }: Result, index: number) =>
    choices.find(choice => choice.index === index) ?? new ChoiceResult(index);
  for (const index of indexes) yield [choiceOf(a, index), choiceOf(b, index)];
}

const equal = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b);
