import { describe, expect, it } from '@jest/globals';
import type { Message } from '../../../../../../src/gateway/exchange/canonical.ts';
import { affinityKeyOf } from '../../../../../../src/gateway/upstream/routing/affinity-key.ts';
import { sampleRequest } from '../../../../sample-exchange.ts';

const of = (...messages: Message[]) => affinityKeyOf(sampleRequest({ messages }));
const system: Message = { role: 'system', content: 'You are a river guide.' };
const question: Message = { role: 'user', content: 'Why do rivers bend?' };
const answer: Message = { role: 'assistant', content: 'They erode.' };

describe('the affinity key of a conversation', () => {
  it('is the same in all its turns', () => {
    const first = of(system, question);
    expect(of(system, question, answer, { role: 'user', content: 'And then?' })).toBe(first);
    expect(of(system, question, answer, { role: 'user', content: 'Why?' }, answer)).toBe(first);
  });

  it('differs for another beginning', () => {
    const beginnings = [
      of(system, question),
      of(question),
      of(system, { role: 'user', content: 'Why do rivers bend' }),
      of({ role: 'user', content: 'You are a river guide.' }, question),
      of(system, system, question),
      of(system, { role: 'user', content: `${'x'.repeat(9000)}a` }),
      of(system, { role: 'user', content: `${'x'.repeat(9000)}ab` }),
    ];
    expect(new Set(beginnings).size).toBe(beginnings.length);
  });

  it('is the same for text and for parts of text', () => {
    expect(of({ role: 'user', content: [{ type: 'text', text: 'Why do rivers bend?' }] })).toBe(of(question));
  });

  it('exists without a user message', () => {
    expect(of(system)).not.toBe(of(answer));
  });
});
