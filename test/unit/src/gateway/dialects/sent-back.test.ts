import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type {
  ChatRequest,
  Message,
  ReasoningDetail,
  ToolCall,
} from '../../../../../src/gateway/exchange/canonical.ts';
import { type AnyReply, anyReply } from './any-reply.ts';
import { chatOf, identity, messageFormat, responsesOf } from './renderings.ts';

const hello = [{ role: 'user', content: 'Hello' }];
const model = 'a/b';
const plain = (text: string | undefined) => text?.replace(/\s/g, '') || undefined;
const callsIn = (calls: readonly ToolCall[] | undefined) => calls?.map(({ function: called }) => called);
const forAny = (check: (reply: AnyReply) => void) =>
  fc.assert(fc.property(anyReply, check), { numRuns: 100 });

describe('any reply that a client sends back', () => {
  it('is the same message of chat completions, without what was signed', () => {
    forAny(({ whole }) => {
      // Upstreams that give no ids are told by their names.
      fc.pre(whole.choices.every(({ message }) => message.tool_calls?.every(({ id }) => id) ?? true));
      const told = JSON.parse(chatOf('both').renderReply(identity(), whole)) as typeof whole;
      const request = chatOf().parse({
        model,
        messages: [...hello, ...told.choices.map(({ message }) => message)],
      });
      expect(request.unknown).toEqual({});
      expect(request.messages.slice(1)).toEqual(
        whole.choices.map(({ message: { reasoning_details: _, refusal, content, ...message } }) => {
          return { ...message, content: content ?? (message.tool_calls ? null : refusal) };
        }),
      );
    });
  });

  it('is the same message of Messages, with its reasoning as it was signed', () => {
    forAny(({ whole, isSignedAlike }) => {
      const { message } = whole.choices[0]!;
      const { content } = JSON.parse(messageFormat.renderReply(identity(), whole));
      const request = messageFormat.parse({
        model,
        max_tokens: 5,
        messages: [...hello, { role: 'assistant', content }],
      });
      expect(request.unknown).toEqual({});
      const [, back] = request.messages as [Message, Message];
      expect(back.content).toBe(message.content ?? (message.tool_calls ? null : ''));
      expect(plain(back.reasoning)).toBe(plain(message.reasoning));
      expect(callsIn(back.tool_calls)?.map(({ name, arguments: text }) => [name, JSON.parse(text)])).toEqual(
        callsIn(message.tool_calls)?.map(({ name, arguments: text }) => [name, parsedOrNone(text)]),
      );
      if (isSignedAlike) expect(back.reasoning_details).toEqual(signedIn(message.reasoning_details));
    });
  });

  it.each(['message', 'item', 'summary'] as const)(
    'is the same message of responses, with reasoning as %s',
    placement => {
      const tools = [
        { type: 'function', name: 'roll' },
        { type: 'custom', name: 'note' },
        { type: 'namespace', name: 'crm', tools: [{ type: 'function', name: 'lookup' }] },
      ];
      const include = ['reasoning.encrypted_content'];
      const context = {
        path: '/v1/responses',
        headers: { 'x-reasoning-placement': placement },
        account_id: undefined,
      };
      const parse = (input: unknown[]): ChatRequest =>
        responsesOf().parse({ model, input, tools, include }, context);
      const request = parse(hello);
      forAny(({ whole }) => {
        const { message } = whole.choices[0]!;
        const { output } = JSON.parse(responsesOf().renderReply(identity(request), whole));
        const { messages, unknown } = parse([...hello, ...output]);
        expect([unknown, messages.length]).toEqual([{}, 2]);
        const [, back] = messages as [Message, Message];
        const texts = [message.content, message.refusal].filter(text => text);
        const parts = texts.length > 1 ? texts.map(text => ({ type: 'text', text })) : texts[0];
        expect(back.content).toEqual(parts ?? (message.tool_calls ? null : ''));
        expect(back.reasoning).toBe(message.reasoning);
        // A message has no place for it.
        const details = placement === 'message' ? undefined : message.reasoning_details;
        expect(back.reasoning_details).toEqual(details);
        const expected = callsIn(message.tool_calls) ?? [];
        expect(callsIn(back.tool_calls) ?? []).toEqual(
          expected.map(called =>
            called.name === 'note' ? { name: 'note', arguments: expect.any(String) } : called,
          ),
        );
        const ids = back.tool_calls?.map(({ id }) => id) ?? [];
        expect(new Set(ids).size).toBe(ids.length);
      });
    },
  );
});

/** Arguments that were cut off are none. */
function parsedOrNone(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** The details where one is signed or encrypted; a text that is signed as well is there once. */
function signedIn(details: readonly ReasoningDetail[] = []): ReasoningDetail[] | undefined {
  const isSigned = ({ type, signature }: ReasoningDetail) => type !== 'reasoning.text' || Boolean(signature);
  if (!details.some(isSigned)) return undefined;
  const signed = details.filter(detail => detail.signature).map(({ text }) => text);
  return details.filter(detail => isSigned(detail) || !signed.includes(detail.text));
}
