import { describe, expect, it } from '@jest/globals';
import { ReasoningCache } from '../../../../src/common/reasoning-cache.ts';
import type { ToolCall } from '../../../../src/gateway/exchange/canonical.ts';

const callOf = (id: string, text = '{}', name = 'roll'): ToolCall => ({
  id,
  type: 'function',
  function: { name, arguments: text },
});

/** A call with an id that cannot be guessed; `end` tells calls apart. */
const call = (end: string, text?: string, name?: string): ToolCall =>
  callOf(`toolu_h3Kq9ZxW2b${end}`, text, name);

function memoryOf(max_characters = 1000, max_age_ms = 1000) {
  const clock = { now_ms: 0 };
  return { clock, memory: new ReasoningCache<unknown>({ max_characters, max_age_ms }, () => clock.now_ms) };
}

describe('a cached turn with tool calls', () => {
  it.each([
    ['other ids', [call('x'), call('b')]],
    ['one call fewer', [call('a')]],
    ['another order', [call('b'), call('a')]],
    ['other arguments', [call('a', '{"sides":6}'), call('b')]],
    ['another name', [call('a', '{}', 'toss'), call('b')]],
    ['none', []],
  ])('is not found by %s', (_, calls) => {
    const { memory } = memoryOf();
    memory.keep([call('a'), call('b')], 1);
    expect(memory.recall(calls)).toBeUndefined();
  });

  it('is found when its arguments are formatted differently', () => {
    const { memory } = memoryOf();
    memory.keep([call('a', '{"sides": 20,\n"times": 1}'), call('b', '')], 1);
    expect(memory.recall([call('a', '{"sides":20,"times":1}'), call('b', '{}')])).toBe(1);
  });

  it('is found when its arguments are no JSON', () => {
    const { memory } = memoryOf();
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    for (const text of ['{"sides":', deep]) {
      memory.keep([call('a', text)], 1);
      expect(memory.recall([call('a', text)])).toBe(1);
    }
  });

  it('cannot be changed by its reader', () => {
    const { memory } = memoryOf();
    memory.keep([call('a')], { seal: 1 });
    (memory.recall([call('a')]) as { seal: number }).seal = 2;
    expect(memory.recall([call('a')])).toEqual({ seal: 1 });
  });
});

describe('the id of a call that is a number or its name', () => {
  it.each(['functions.roll:0', 'functions.roll:12', 'tool_0_roll', 'roll-1', 'call_roll', 'call_0', '1'])(
    'as %s does not bring back reasoning, which may be of another account',
    id => {
      const { memory } = memoryOf();
      memory.keep([callOf(id)], 1);
      expect(memory.recall([callOf(id)])).toBeUndefined();
    },
  );
});

describe('the limits of the reasoning cache', () => {
  it('evict the least recently used turn', () => {
    const { memory } = memoryOf(330);
    for (const id of ['a', 'b', 'c']) memory.keep([call(id)], 'x'.repeat(8));
    expect(memory.characters).toBe(330);
    memory.recall([call('a')]);
    memory.keep([call('d')], 'x'.repeat(8));
    expect(['a', 'b', 'c', 'd'].filter(id => memory.recall([call(id)]))).toEqual(['a', 'c', 'd']);
    expect(memory.characters).toBe(330);
  });

  it('evict expired turns', () => {
    const { memory, clock } = memoryOf();
    memory.keep([call('a')], 1);
    clock.now_ms = 1000;
    expect(memory.recall([call('a')])).toBe(1);
    clock.now_ms = 1001;
    expect(memory.recall([call('a')])).toBeUndefined();
    expect(memory.characters).toBe(0);
  });

  it('reclaim the space of expired turns without a lookup', () => {
    const { memory, clock } = memoryOf();
    memory.keep([call('a')], 1);
    clock.now_ms = 5000;
    memory.keep([call('b')], 1);
    expect(memory.characters).toBe(101);
  });

  it('store nothing that exceeds the total, and nothing at all when they are zero', () => {
    const { memory } = memoryOf(109);
    memory.keep([call('a')], 'x'.repeat(8));
    expect(memory.recall([call('a')])).toBeUndefined();
    const { memory: none } = memoryOf(0);
    none.keep([call('a')], 1);
    expect(none.characters).toBe(0);
  });
});

describe('the arguments with very many values', () => {
  const wide = `[${'0,'.repeat(60_000)}0]`;

  it('are found when they come back unchanged, without being parsed', () => {
    const { memory } = memoryOf();
    memory.keep([call('a', wide)], { seal: 1 });
    expect(memory.recall([call('a', wide)])).toEqual({ seal: 1 });
    expect(memory.recall([call('a', `${wide} `)])).toBeUndefined();
  });
});
