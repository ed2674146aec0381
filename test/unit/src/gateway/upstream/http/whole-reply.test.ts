import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { ReplyAssembler } from '../../../../../../src/gateway/exchange/assemble-reply.ts';
import { type Chunk, type Completion, usageOf } from '../../../../../../src/gateway/exchange/canonical.ts';
import { chunksOf, WholeReply } from '../../../../../../src/gateway/upstream/http/whole-reply.ts';

const textOfAnyLength = fc
  .tuple(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 5 }), fc.nat(12_000))
  .map(([unit, times]) => unit.repeat(times));
const logprobs = fc.nat(300).map(count => ({
  content: Array.from({ length: count }, (_, at) => ({ token: `t${at}`, logprob: -at })),
}));
const call = fc.tuple(fc.uuid(), textOfAnyLength).map(([id, text]) => ({
  id,
  type: 'function' as const,
  function: { name: 'f', arguments: JSON.stringify({ text }) },
}));
/** Details are passed on whole. */
const detail = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 2000 })
  .map(text => ({ type: 'reasoning.text', text, signature: 's' }));
const choice = fc.record({
  content: textOfAnyLength,
  reasoning: fc.option(textOfAnyLength, { nil: '' }),
  refusal: fc.option(textOfAnyLength, { nil: '' }),
  details: fc.array(detail, { maxLength: 3 }),
  calls: fc.array(call, { maxLength: 40 }),
  logprobs: fc.option(logprobs, { nil: undefined }),
  stop_sequence: fc.option(fc.constant('END'), { nil: undefined }),
});

/** A reply in which what is empty is absent, as a `ReplyAssembler` has it. */
const reply = fc.array(choice, { minLength: 1, maxLength: 3 }).map(choices => ({
  choices: choices.map(({ content, reasoning, refusal, details, calls, logprobs, stop_sequence }, index) => ({
    index,
    message: {
      role: 'assistant' as const,
      content: content === '' && calls.length > 0 ? null : content,
      ...(reasoning && { reasoning }),
      ...(details.length > 0 && { reasoning_details: details }),
      ...(calls.length > 0 && { tool_calls: calls }),
      ...(refusal && { refusal }),
    },
    finish_reason: 'stop' as const,
    ...(stop_sequence && { stop_sequence }),
    ...(logprobs && { logprobs }),
  })),
  usage: usageOf(3, 4),
}));

function assembled(chunks: Iterable<Chunk>): Completion {
  const assembler = new ReplyAssembler();
  for (const chunk of chunks) assembler.add(chunk);
  return assembler.reply();
}

describe('the chunks of a whole reply', () => {
  it('say what it says, in pieces of bounded size that are cut between characters', () => {
    fc.assert(
      fc.property(reply, whole => {
        const chunks = [...chunksOf(whole)];
        expect(assembled(chunks)).toEqual(whole);
        for (const chunk of chunks) {
          const text = JSON.stringify(chunk);
          expect(text.length).toBeLessThan(110_000);
          expect(text.isWellFormed()).toBe(true);
          // A lone surrogate is written as an escape.
          expect(text).not.toMatch(/\\ud[89a-f]/);
        }
      }),
      { numRuns: 30 },
    );
  });

  it('all have the usage, so that a client that leaves is billed for what was generated', () => {
    const message = { role: 'assistant' as const, content: 'x'.repeat(100_000) };
    const usage = usageOf(1, 30_000);
    const chunks = [...chunksOf({ choices: [{ index: 0, message, finish_reason: 'stop' }], usage })];
    expect(chunks.length).toBeGreaterThan(5);
    expect(chunks.map(chunk => chunk.usage)).toEqual(chunks.map(() => usage));
  });

  it('have log probabilities only beside the text that they are of', () => {
    const tokens = Array.from({ length: 1000 }, (_, at) => ({ token: 'a', logprob: -at }));
    const message = { role: 'assistant' as const, content: 'a'.repeat(1000) };
    const logprobs = { content: tokens, refusal: null };
    const [...chunks] = chunksOf({ choices: [{ index: 0, message, finish_reason: 'stop', logprobs }] });
    for (const { choices } of chunks.slice(0, -1)) {
      const { delta, logprobs } = choices[0]!;
      expect(logprobs).toMatchObject({ content: { length: delta.content!.length }, refusal: null });
    }
    expect(chunks.length).toBeGreaterThan(10);
  });
});

const turn = () => new Promise(resolve => setImmediate(resolve));

/** Passes on a reply of so many calls; notes what its owner hears. */
function passedOn(calls: number, keepsUp = true) {
  const tool_calls = Array.from({ length: calls }, (_, at) => ({
    id: `c${at}`,
    type: 'function' as const,
    function: { name: 'f', arguments: '{}' },
  }));
  const message = { role: 'assistant' as const, content: null, tool_calls };
  const heard: string[] = [];
  const client = { keepsUp };
  const owner = {
    isOver: false,
    give: (chunks: readonly Chunk[]) => {
      heard.push(`${chunks.length}`);
      return client.keepsUp;
    },
    finish: () => void heard.push('end'),
    fault: (thrown: unknown) => void heard.push((thrown as Error).message),
  };
  const whole = new WholeReply({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }, owner);
  whole.give();
  return { heard, whole, client };
}

describe('a whole reply that answers a stream', () => {
  it('is passed on and ended in one turn if it is of usual size', () => {
    expect(passedOn(2).heard).toEqual(['1', 'end']);
  });

  it('is passed on in several turns of the event loop, between which others are served', async () => {
    const { heard } = passedOn(100);
    const turns = [heard.length];
    while (!heard.includes('end')) {
      await turn();
      turns.push(heard.length);
    }
    expect(heard).toEqual(['16', '16', '16', '16', '16', '16', '5', 'end']);
    expect(turns.length).toBeGreaterThanOrEqual(7);
  });

  it('waits while the client does not read, and goes on when it does', async () => {
    const { heard, whole, client } = passedOn(100, false);
    for (let turns = 0; turns < 10; turns++) await turn();
    expect(heard).toEqual(['16']);
    client.keepsUp = true;
    whole.drained();
    whole.drained();
    for (let turns = 0; turns < 10; turns++) await turn();
    expect(heard).toEqual(['16', '16', '16', '16', '16', '16', '5', 'end']);
  });

  it('fails, and is passed on no further, when it is given up before its end', async () => {
    const { heard, whole } = passedOn(100);
    whole.close();
    for (let turns = 0; turns < 10; turns++) await turn();
    expect(heard).toEqual(['16', 'the reply is not read on']);
  });
});
