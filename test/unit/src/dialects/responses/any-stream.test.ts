import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { ResponseStream as SdkStream } from 'openai/lib/responses/ResponseStream';
import {
  type Chunk,
  type Completion,
  type Delta,
  type FinishReason,
  type ReplyMessage,
  type ToolCallDelta,
  usageOf,
} from '../../../../../src/canonical.ts';
import { responses } from '../../../../../src/dialects/responses/index.ts';
import { ToolNames } from '../../../../../src/dialects/responses/tool-names.ts';
import { chunkOf, cutAt, cuts } from '../../../chunk-stream.ts';
import { type Item, readResponse, textsIn } from '../../../response-events.ts';
import { sampleRequest } from '../../../sample-exchange.ts';

const identity = (more: Parameters<typeof sampleRequest>[0] = {}) => ({
  key: '5f2',
  created: 1_795_132_800,
  model: 'aion-labs/aion-3.5',
  request: sampleRequest({ stream: true, ...more }),
  now_s: () => 1_795_132_801,
});

const placements = ['message', 'item', 'summary'] as const;
type Placement = (typeof placements)[number];

/** A custom tool and one in a namespace, beside plain functions. */
const names = new ToolNames();
names.declare({ kind: 'custom', name: 'note' });
names.declare({ kind: 'function', namespace: 'crm', name: 'lookup' });

/** A request that asks for this form. */
const ofForm = (placement: Placement) => identity({ client: { kept: { placement, names } } });

function streamed(placement: Placement, chunks: readonly Chunk[], named = ofForm(placement)): string {
  const stream = responses.create({ reasoning_placement: placement }, { models: [] }).renderStream(named);
  return chunks.map(chunk => stream.chunk(chunk)).join('') + stream.end();
}

const whole = (placement: Placement, reply: Completion, named = ofForm(placement)): object =>
  JSON.parse(
    responses.create({ reasoning_placement: placement }, { models: [] }).renderReply(named, reply),
  ) as object;

/** What the helper of the real SDK makes of the events. */
async function bySdk(text: string): Promise<{ output: Item[]; output_text: string; status: string }> {
  const lines = text
    .split('\n')
    .filter(line => line.startsWith('data: {'))
    .map(line => `${line.slice(6)}\n`);
  const stream = SdkStream.fromReadableStream(new Blob(lines).stream() as never);
  return (await stream.finalResponse()) as unknown as { output: Item[]; output_text: string; status: string };
}

/** One thing said: a piece of text, or of a call's arguments. */
type Step = { readonly kind: 'reasoning' | 'content' | 'refusal'; readonly text: string } | ToolCallDelta;

const text = fc.oneof(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }), fc.constant('\n'));
const textSteps = fc.array(
  fc.record({
    kind: fc.constantFrom(
      'reasoning' as const,
      'reasoning' as const,
      'content' as const,
      'content' as const,
      'refusal' as const,
    ),
    text,
  }),
  { maxLength: 8 },
);

/** The pieces of one call: its id at once, its name at once or soon after, its arguments cut anywhere, perhaps short of their end. */
const callPieces = fc
  .record({
    id: fc.constantFrom('call_a', 'call_b', 'call_a_2', ''),
    name: fc.constantFrom('roll', 'crm__lookup', 'note'),
    late: fc.boolean(),
    given: fc.oneof(
      fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 }),
      fc.record({ input: text }),
    ),
    end: fc.constantFrom(0, 0, 0, -1, -3),
    places: cuts,
  })
  .map(({ id, name, late, given, end, places }): Omit<ToolCallDelta, 'index'>[] => {
    const json = JSON.stringify(given);
    const [first = '', ...rest] = cutAt(json.slice(0, json.length + end), places);
    const begin = { id, type: 'function' as const, function: { name: late ? '' : name, arguments: first } };
    const named = late ? [{ function: { name, arguments: '' } }] : [];
    return [begin, ...named, ...rest.map(piece => ({ function: { arguments: piece } }))];
  });

/** Texts and calls in any order that keeps the order within each. */
const steps = fc
  .tuple(textSteps, fc.array(callPieces, { maxLength: 3 }), fc.infiniteStream(fc.nat()))
  .map(([texts, calls, choices]): Step[] => {
    const queues: Step[][] = [
      [...texts],
      ...calls.map((call, index) => call.map(piece => ({ index, ...piece }))),
    ];
    const merged: Step[] = [];
    for (const choice of choices) {
      const left = queues.filter(queue => queue.length > 0);
      const queue = left[choice % Math.max(1, left.length)];
      if (!queue) break;
      merged.push(queue.shift()!);
    }
    return merged;
  });

const finishes = fc.constantFrom<FinishReason>('stop', 'tool_calls', 'length', 'content_filter');

const deltaOf = (step: Step): Delta => ('kind' in step ? { [step.kind]: step.text } : { tool_calls: [step] });

/** The same as one whole reply: what a request without stream would have been answered. */
function completionOf(said: readonly Step[], finish_reason: FinishReason): Completion {
  const message: ReplyMessage = { role: 'assistant', content: null, reasoning: '' };
  const calls = new Map<number, { id: string; name: string; text: string }>();
  /** In the order in which their names came: only then do they begin for a client. */
  const begun: { id: string; name: string; text: string }[] = [];
  for (const step of said) {
    if ('kind' in step) {
      message[step.kind] = (message[step.kind] ?? '') + step.text;
      continue;
    }
    const { index, id = '', function: { name = '', arguments: text = '' } = {} } = step;
    const call = calls.get(index) ?? { id, name: '', text: '' };
    calls.set(index, call);
    call.text += text;
    if (name && !call.name) {
      call.name = name;
      begun.push(call);
    }
  }
  const tool_calls = begun.map(call => ({
    id: call.id,
    type: 'function' as const,
    function: { name: call.name, arguments: call.text },
  }));
  if (tool_calls.length > 0) message.tool_calls = tool_calls;
  return { choices: [{ index: 0, message, finish_reason }], usage };
}

const usage = usageOf(12, 9, 4, { reasoning_tokens: 5 });

/** The chunks of these steps as the chain hands them on. */
const chunksOf = (said: readonly Step[], finish: FinishReason): Chunk[] => [
  chunkOf({ role: 'assistant', content: '' }),
  ...said.map(step => chunkOf(deltaOf(step))),
  { choices: [{ index: 0, delta: {}, finish_reason: finish }], usage },
];

/** The same with each kind and each call in one run, in the order in which a whole reply has them. */
function inOrder(said: readonly Step[]): Step[] {
  const begun: number[] = [];
  const rank = (step: Step): number => {
    if ('kind' in step) return ['reasoning', 'content', 'refusal'].indexOf(step.kind);
    if (!begun.includes(step.index)) begun.push(step.index);
    return 3 + begun.indexOf(step.index);
  };
  const ranked = said.map(step => ({ step, rank: rank(step) }));
  return ranked.toSorted((one, other) => one.rank - other.rank).map(({ step }) => step);
}

/** Texts of all items of a type, by the kind of their parts. */
const joined = (items: readonly Item[], kind: string): string =>
  items
    .flatMap(textsIn)
    .filter(({ type }) => type === kind)
    .map(part => part.text ?? part.refusal)
    .join('');

describe.each(placements)('any stream with reasoning in the %s', placement => {
  it('is numbered, opens and closes every item once, and has deltas that add up to the final text', () => {
    fc.assert(
      fc.property(steps, finishes, (said, finish) => {
        const { items, last } = readResponse(streamed(placement, chunksOf(said, finish)));
        const { message } = completionOf(said, finish).choices[0]!;
        const kind = placement === 'summary' ? 'summary_text' : 'reasoning_text';
        expect(joined(items, kind)).toBe(message.reasoning);
        expect(joined(items, 'output_text')).toBe(message.content ?? '');
        expect(joined(items, 'refusal')).toBe(message.refusal ?? '');
        const calls = items.filter(({ type }) => type.endsWith('_call'));
        expect(calls.map(({ name, arguments: text }) => [name, text])).toEqual(
          (message.tool_calls ?? []).map(({ function: { name, arguments: text } }) => [
            names.toolOf(name).name,
            name === 'note' ? undefined : text,
          ]),
        );
        const isCut = finish === 'length' || finish === 'content_filter';
        expect(last.type).toBe(isCut ? 'response.incomplete' : 'response.completed');
        const incomplete = items.filter(({ status }) => status === 'incomplete');
        if (isCut) expect(incomplete.length).toBeGreaterThan(0);
        else expect(incomplete).toEqual([]);
        if (placement !== 'message') expect(last.response?.output).toEqual(items);
      }),
      { numRuns: 80 },
    );
  });

  it('ends with the response that a request without stream gets', () => {
    fc.assert(
      fc.property(steps, finishes, (unordered, finish) => {
        // As items of their own, reasoning that comes again and a text after calls stand where they were streamed.
        const said = placement !== 'message' ? inOrder(unordered) : unordered;
        const { last } = readResponse(streamed(placement, chunksOf(said, finish)));
        const expected = whole(placement, completionOf(said, finish));
        expect(last.response).toEqual(expected);
        expect(last.usage).toEqual((expected as { usage: unknown }).usage);
      }),
      { numRuns: 80 },
    );
  });

  it('can be assembled by the stream helper of the SDK', async () => {
    await fc.assert(
      fc.asyncProperty(steps, finishes, async (said, finish) => {
        const text = streamed(placement, chunksOf(said, finish));
        const { output } = readResponse(text).last.response!;
        const final = await bySdk(text);
        expect(final.output.map(({ id, type }) => [id, type])).toEqual(
          output.map(({ id, type }) => [id, type]),
        );
        expect(final.output_text).toBe(completionOf(said, finish).choices[0]?.message.content ?? '');
      }),
      { numRuns: 30 },
    );
  });

  it('is the same however chunks are grouped', () => {
    fc.assert(
      fc.property(steps, finishes, (said, finish) => {
        const merged: Delta = { role: 'assistant' };
        const { message } = completionOf(said, finish).choices[0]!;
        const { tool_calls, ...texts } = message;
        Object.assign(merged, texts);
        if (tool_calls) merged.tool_calls = tool_calls.map((call, index) => ({ index, ...call }));
        const text = streamed(placement, [
          { choices: [{ index: 0, delta: merged, finish_reason: finish }], usage },
        ]);
        const { last } = readResponse(text);
        expect(last.response).toEqual(whole(placement, completionOf(said, finish)));
      }),
      { numRuns: 30 },
    );
  });
});
