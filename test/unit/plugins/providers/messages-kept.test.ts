import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { ContentPart, Message } from '../../../../src/canonical.ts';
import { fitted } from '../../../../src/upstream/attempt/fit-request.ts';
import { adapterOf, type ProviderName, providerNames } from '../../../support/provider-fixtures.ts';
import { sampleRequest } from '../../sample-exchange.ts';

/** What is unlike everything else in a request, and must be found in what is sent. */
interface Marks {
  readonly texts: string[];
  readonly calls: string[];
  readonly images: string[];
  readonly reasoning: string[];
}

const image = fc.constantFrom('data', 'address');
const part = fc.oneof(fc.string({ unit: 'binary' }), image);
const turn = fc.record({
  role: fc.constantFrom('system', 'user', 'assistant'),
  parts: fc.array(part, { minLength: 1, maxLength: 3 }),
  isList: fc.boolean(),
  reasons: fc.boolean(),
  calls: fc.nat({ max: 2 }),
});
type Turn = typeof turn extends fc.Arbitrary<infer T> ? T : never;

/** Makes a conversation of turns, with a mark in each of its parts. */
class Conversation {
  readonly messages: Message[] = [];
  readonly marks: Marks = { texts: [], calls: [], images: [], reasoning: [] };
  #count = 0;

  constructor(turns: readonly Turn[]) {
    this.messages.push({ role: 'user', content: this.#mark('texts') });
    for (const one of turns) this.#add(one);
  }

  #add({ role, parts, isList, reasons, calls }: Turn): void {
    const seesImages = role === 'user';
    const content = this.#contentOf(parts, isList, seesImages);
    if (role !== 'assistant') return void this.messages.push({ role, content });
    const text = reasons ? this.#mark('reasoning') : '';
    const signature = Buffer.from(text).toString('base64');
    const detail = { type: 'reasoning.text', text, signature, format: 'anthropic-claude-v1', index: 0 };
    const tool_calls = Array.from({ length: calls }, () => {
      const mark = this.#mark('calls');
      const called = { name: `roll_${mark}`, arguments: JSON.stringify({ sides: mark }) };
      return { id: `call_${mark}`, type: 'function' as const, function: called };
    });
    this.messages.push({
      role,
      content,
      ...(reasons && { reasoning: text, reasoning_details: [detail] }),
      ...(calls > 0 && { tool_calls }),
    });
    for (const { id } of tool_calls)
      this.messages.push({ role: 'tool', tool_call_id: id, content: this.#contentOf(parts, isList, true) });
  }

  #contentOf(parts: Turn['parts'], isList: boolean, seesImages: boolean): string | ContentPart[] {
    if (!isList) return this.#mark('texts');
    return parts.map((given): ContentPart => {
      if (!seesImages || (given !== 'data' && given !== 'address'))
        return { type: 'text', text: `${given}${this.#mark('texts')}` };
      const mark = this.#mark('images');
      const url = given === 'data' ? `data:image/png;base64,${mark}` : `https://example.com/${mark}.png`;
      return { type: 'image_url', image_url: { url } };
    });
  }

  #mark(kind: keyof Marks): string {
    const mark = `${kind}X${this.#count++}X`;
    this.marks[kind].push(mark);
    return mark;
  }
}

const target = { model: 'claude-sonnet-4-5', effortMap: {}, extraParameters: [], maxTokens: 32_768 };

/** How often a mark must be there, if not once: some servers read reasoning under two names, or as it is and signed. */
const timesSent: Partial<Record<ProviderName, Partial<Record<keyof Marks, number>>>> = {
  vllm: { reasoning: 2 },
  openrouter: { reasoning: 2 },
};

describe.each(providerNames)('the messages of any request to %s', provider => {
  it('are sent whole: every text, call, image and reasoning', () => {
    const adapter = adapterOf(provider);
    const accepted = {
      parameters: undefined,
      drop: [],
      extra: [],
      messages: { fields: adapter.messageFields!, send_reasoning: 'always' as const },
    };
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 6 }), turns => {
        const { messages, marks } = new Conversation(turns);
        const fit = fitted(sampleRequest({ messages }), accepted);
        const { body, ignored = [] } = adapter.encode(fit.request, target);
        const sent = JSON.stringify(body);
        const count = (mark: string) => sent.split(mark).length - 1;
        for (const kind of ['texts', 'images', 'reasoning'] as const)
          for (const mark of marks[kind])
            expect({ mark, times: count(mark) }).toEqual({ mark, times: timesSent[provider]?.[kind] ?? 1 });
        for (const mark of marks.calls) expect(count(mark)).toBeGreaterThanOrEqual(3);
        expect([...fit.ignored, ...ignored]).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });
});
