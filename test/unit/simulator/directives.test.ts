import { describe, expect, it } from '@jest/globals';
import {
  BEFORE_HEADERS,
  findDirectives,
  readDirectives,
  stripDirectives,
} from '../../../src/simulator/directives.ts';

describe('findDirectives', () => {
  it('finds none in ordinary text', () => {
    expect(findDirectives('Tell me about [[wiki links]] and sim:things')).toEqual({});
  });

  it('reads keys, values and bare words from all places in the text', () => {
    expect(findDirectives('[[sim:status=503 retry_after=3]] hello [[sim:body=html, no_done]]')).toEqual({
      status: 503,
      retry_after: '3',
      body: 'html',
      no_done: true,
    });
  });

  it('gives faults without a value their default position', () => {
    expect(readDirectives('reset stall error')).toEqual({ reset: BEFORE_HEADERS, stall: 0, error: 1 });
    expect(readDirectives('reset=0 cut=4')).toEqual({ reset: 0, cut: 4 });
  });

  it('takes everything after say= literally', () => {
    expect(findDirectives('[[sim:ttft=5 say= a=b, [c] tokens=9 ]] rest')).toEqual({
      ttft: 5,
      say: ' a=b, [c] tokens=9 ',
    });
  });

  it('takes everything after args= as a JSON object', () => {
    expect(readDirectives('tool=bash args={"command": "say=1, ls"}')).toEqual({
      tool: 'bash',
      args: '{"command": "say=1, ls"}',
    });
    expect(() => readDirectives('tool=bash args=[1]')).toThrow("'args' must be a JSON object");
    expect(() => readDirectives('args={"a"')).toThrow("'args' must be a JSON object");
  });

  it('reads those of a step at that step only', () => {
    const text = '[[sim:chunk=2]] [[sim:step tool=read]] then [[sim:step tool=write]]';
    const at = (step: number) => findDirectives(text, step);
    expect([at(0).tool, at(1).tool, at(2).tool]).toEqual(['read', 'write', undefined]);
    expect([at(0).chunk, at(2).chunk]).toEqual([2, 2]);
  });

  it('reads an endless answer', () => {
    expect(readDirectives('tokens=endless')).toEqual({ tokens: Number.POSITIVE_INFINITY });
  });

  it.each([
    ['stauts=503', /Unknown simulator directive 'stauts'; accepted: args, body/],
    ['status=banana', /'status' must be an integer of at least 400 and at most 599/],
    ['body=xml', /'body' must be one of vllm, object/],
    ['tokens', /'tokens' must be an integer of at least 0, or endless/],
    ['echo=yes', /'echo' must be written without a value/],
    ['constructor', /Unknown simulator directive 'constructor'/],
  ])('rejects %s', (source, message) => {
    expect(() => readDirectives(source)).toThrow(message);
  });
});

describe('stripDirectives', () => {
  it('removes all directives from the text', () => {
    expect(stripDirectives('[[sim:echo]] Hello [[sim:tokens=5]]')).toBe('Hello');
    expect(stripDirectives('  plain ')).toBe('  plain ');
  });
});
