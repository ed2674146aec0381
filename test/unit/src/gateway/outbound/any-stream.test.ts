import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Chunk, Delta } from '../../../../../src/gateway/exchange/canonical.ts';
import { usageOf } from '../../../../../src/gateway/exchange/canonical.ts';
import { assembled, choicesOf, chunkOf } from '../../../chunk-stream.ts';
import { continuous, end, role, shaped, told } from './shaped-stream.ts';

describe('the shape of any stream', () => {
  const delta: fc.Arbitrary<Delta> = fc.record(
    {
      role: fc.constant('assistant' as const),
      content: fc.constantFrom('', 'a', 'word ', null),
      reasoning: fc.constantFrom('', 'r'),
    },
    { requiredKeys: [] },
  );
  const script = fc.record({
    steps: fc.array(fc.record({ index: fc.nat(2), delta, counted: fc.nat(4) }), { maxLength: 12 }),
    usage: fc.constantFrom('none', 'final', 'continuous', 'repeated', 'sometimes'),
    stats: fc.boolean(),
  });

  it('is the one that clients rely on', async () => {
    await fc.assert(
      fc.asyncProperty(script, async ({ steps, usage, stats }) => {
        const given: Chunk[] = [];
        let completion = 0;
        for (const [at, { index, delta, counted }] of steps.entries()) {
          completion += counted;
          const tells = usage === 'continuous' || (usage === 'sometimes' && at % 3 === 1);
          given.push({ ...chunkOf(delta, null, index), ...(tells && { usage: usageOf(7, completion) }) });
        }
        const indexes = [...new Set(steps.map(({ index }) => index))];
        given.push(...indexes.map(index => end(index)));
        if (usage === 'repeated')
          given.push({
            choices: indexes.flatMap(index => role(index).choices),
            usage: usageOf(7, completion),
          });
        else if (usage !== 'none') given.push(told(7, completion));

        const { chunks } = await shaped(given, stats ? continuous : { stream: true });
        for (const index of indexes) {
          const choices = choicesOf(chunks, index);
          expect(choices[0]).toEqual(role(index).choices[0]);
          expect(choices.filter(({ delta }) => delta.role !== undefined)).toHaveLength(1);
          expect(choices.filter(choice => choice.finish_reason !== null)).toEqual([choices.at(-1)]);
          expect(assembled(chunks, index)).toEqual(assembled(given, index));
        }
        expect(chunks.filter(({ choices }) => choices.length !== 1)).toEqual([]);
        checkUsage(chunks, stats);
        if (chunks.length > 0 && usage !== 'none')
          expect(chunks.at(-1)!.usage).toEqual(usageOf(7, completion));
      }),
      { numRuns: 500 },
    );
  });

  function checkUsage(chunks: readonly Chunk[], stats: boolean): void {
    const shown = chunks.map(({ usage }) => usage);
    if (!stats) return expect(shown.slice(0, -1).filter(usage => usage !== undefined)).toEqual([]);
    let before = usageOf(0, 0);
    for (const usage of shown.slice(0, -1)) {
      expect(Object.keys(usage!)).toEqual(Object.keys(before));
      expect(usage!.total_tokens).toBe(usage!.prompt_tokens + usage!.completion_tokens);
      expect(usage!.prompt_tokens).toBeGreaterThanOrEqual(before.prompt_tokens);
      expect(usage!.completion_tokens).toBeGreaterThanOrEqual(before.completion_tokens);
      before = usage!;
    }
  }
});
