import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type Chunk, type Completion, type Delta, usageOf } from '../../../../../src/canonical.ts';
import { ReplyAssembler } from '../../../../../src/plugin.ts';
import { eventsOf } from '../../../../support/gateway-under-test.ts';
import { chunkOf, cutAt, cuts } from '../../../chunk-stream.ts';
import { bySdk, streamed, whole } from '../../../message-setting.ts';

const text = fc.oneof(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }), fc.constant('\n'));
const said = fc.array(fc.record({ kind: fc.constantFrom('reasoning' as const, 'content' as const), text }), {
  maxLength: 6,
});
const called = fc.array(
  fc.record({
    id: fc.constantFrom('call_a', 'call_b', ''),
    input: fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }),
    places: cuts,
  }),
  { maxLength: 3 },
);

/** The pieces of all calls: those of one are in order, between them is anything. */
const pieces = fc.tuple(called, fc.infiniteStream(fc.nat(2))).map(([calls, turns]) => {
  const queues = calls.map(({ id, input, places }, index): Delta[] => {
    const [first = '', ...rest] = cutAt(JSON.stringify(input), places);
    const begin = { index, id, type: 'function' as const, function: { name: 'roll', arguments: first } };
    return [begin, ...rest.map(piece => ({ index, function: { arguments: piece } }))].map(piece => ({
      tool_calls: [piece],
    }));
  });
  const mixed: Delta[] = [];
  // A call begins after the one before it.
  mixed.push(...queues.map(queue => queue.shift()!));
  while (queues.some(({ length }) => length > 0)) {
    const left = queues.filter(({ length }) => length > 0);
    mixed.push(left[(turns.next().value ?? 0) % left.length]!.shift()!);
  }
  return mixed;
});

const usage = usageOf(20, 10, 5);

function replyOf(chunks: readonly Chunk[]): Completion {
  const assembler = new ReplyAssembler();
  for (const chunk of chunks) assembler.add(chunk);
  return assembler.reply();
}

/** Texts of a kind joined, and calls with their input. */
const meaningOf = ({
  content,
  id,
  stop_reason,
  stop_sequence,
  usage,
}: Awaited<ReturnType<typeof bySdk>>) => ({
  ...{ id, stop_reason, stop_sequence, usage },
  text: content.flatMap(block => (block.type === 'text' ? block.text : [])).join(''),
  thinking: content.flatMap(block => (block.type === 'thinking' ? block.thinking : [])).join(''),
  calls: content.filter(({ type }) => type === 'tool_use'),
});

describe('any Messages stream', () => {
  it('says in the SDK what the whole reply says, block by block', async () => {
    await fc.assert(
      fc.asyncProperty(said, pieces, async (words, calls) => {
        const deltas = [...words.map(({ kind, text }) => ({ [kind]: text })), ...calls];
        const finish = chunkOf({}, calls.length > 0 ? 'tool_calls' : 'stop');
        const chunks = [
          chunkOf({ role: 'assistant', content: '' }),
          ...deltas.map(delta => chunkOf(delta)),
          { ...finish, usage },
        ];
        const events = streamed(chunks);
        expect(meaningOf(await bySdk(events))).toEqual(meaningOf(whole(replyOf(chunks))));
        let open = false;
        for (const { event } of eventsOf(events)) {
          if (event === 'content_block_start') expect(open).toBe(false);
          if (event?.startsWith('content_block')) open = event !== 'content_block_stop';
        }
        expect(open).toBe(false);
      }),
      { numRuns: 60 },
    );
  });
});
