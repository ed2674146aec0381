import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { ToolNames } from '../../../../../plugins/dialects/responses/tool-names.ts';
import type {
  ChatRequest,
  Chunk,
  Completion,
  ToolCall,
  Usage,
} from '../../../../../src/gateway/exchange/canonical.ts';
import { refusal } from '../../../../../src/gateway/exchange/errors.ts';
import { type AnyReply, anyReply } from './any-reply.ts';
import {
  chatOf,
  identity,
  messageFormat,
  openStream,
  prompt_tokens,
  responsesOf,
  streamedBy,
} from './renderings.ts';
import { type Item, readResponse, textsIn } from './response-reader.ts';
import { chatBySdk, messageBySdk, responseBySdk } from './sdk-readers.ts';
import { eventsIn, readChat, readMessage, type SentEvent } from './stream-readers.ts';

/** Runs a property over any reply. */
const forAny = (check: (reply: AnyReply, isAsked: boolean) => void, numRuns = 80) =>
  fc.assert(fc.property(anyReply, fc.boolean(), check), { numRuns });
const size = fc.integer({ min: 1, max: 300 });
/** The same for a client that gets the bytes of a stream in pieces of this size. */
const forAnySdk = (check: (reply: AnyReply, size: number) => Promise<void>) =>
  fc.assert(fc.asyncProperty(anyReply, size, check), { numRuns: 40 });
const running = { stream_options: { continuous_usage_stats: true } };
const json = (value: unknown) => JSON.parse(JSON.stringify(value));
const firstOf = ({ choices }: Completion) => choices[0]!;
const isCutOff = (finish: string) => finish === 'length' || finish === 'content_filter';
/** Events that each chunk has caused, with the usage that was known then and whether the first choice had ended. */
function byChunk(stream: ReturnType<typeof openStream>, chunks: readonly Chunk[]) {
  let usage: Usage | undefined;
  let isEnded = false;
  return chunks.map(chunk => {
    usage = chunk.usage ?? usage;
    isEnded ||= chunk.choices.some(({ index, finish_reason }) => index === 0 && finish_reason !== null);
    return { events: eventsIn(stream.chunk(chunk)), usage, isEnded };
  });
}

describe('any stream of chat completions', () => {
  it.each(['reasoning', 'reasoning_content', 'both'] as const)(
    'adds up to the whole reply, choice by choice, with reasoning called %s',
    key => {
      const chat = chatOf(key);
      forAny(({ chunks, whole }) => {
        const told = readChat(streamedBy(chat, chunks));
        expect(told).toEqual(JSON.parse(chat.renderReply(identity(), whole)));
        const named = key === 'both' ? ['reasoning', 'reasoning_content'] : [key];
        const texts = (told as Completion).choices.map(
          ({ message }) => json(message) as Record<string, unknown>,
        );
        for (const [at, { message }] of whole.choices.entries())
          for (const name of ['reasoning', 'reasoning_content'])
            expect(texts[at]![name]).toBe(named.includes(name) ? message.reasoning : undefined);
      });
    },
  );

  it('has an event for each chunk that says something here, with its usage', () => {
    const says = ({ delta, finish_reason, logprobs }: Chunk['choices'][number]) =>
      finish_reason !== null ||
      logprobs != null ||
      Object.keys(delta).some(name => name !== 'reasoning_details');
    forAny(({ chunks }) => {
      const told = chunks.filter(({ choices }) => choices.length === 0 || choices.some(says));
      const events = eventsIn<Chunk>(streamedBy(chatOf(), chunks)).slice(0, -1);
      expect(events.map(event => event.json?.usage)).toEqual(told.map(({ usage }) => usage));
      expect(events.map(event => event.json?.choices.map(({ index }) => index))).toEqual(
        told.map(({ choices }) => choices.filter(says).map(({ index }) => index)),
      );
    });
  });

  it('adds up in the client of OpenAI to the whole reply', async () => {
    const ids = ['call_a', 'call_b', 'call_a_2'];
    // That client keeps only the last piece of fields that OpenAI does not have, and makes up ids that are missing.
    const comparable = (reply: Completion) => ({
      ...reply,
      choices: reply.choices.map(({ message: { reasoning: _, tool_calls = [], ...message }, ...choice }) => ({
        ...choice,
        logprobs: choice.logprobs ?? null,
        content: message.content || null,
        refusal: message.refusal ?? null,
        tool_calls: tool_calls.map((call: ToolCall) => [ids.indexOf(call.id), call.type, call.function]),
      })),
    });
    await forAnySdk(async ({ chunks, whole }, size) => {
      const told = json(await chatBySdk(streamedBy(chatOf(), chunks), size)) as Completion;
      const expected = JSON.parse(chatOf().renderReply(identity(), whole)) as Completion;
      expect(comparable(told)).toEqual(comparable(expected));
    });
  });
});

/** A custom tool and one in a namespace, beside plain functions. */
const names = new ToolNames();
names.declare({ kind: 'custom', name: 'note' });
names.declare({ kind: 'function', namespace: 'crm', name: 'lookup' });
/** Texts of all items, by the kind of their parts. */
const joined = (items: readonly Item[], kind: string): string =>
  items
    .flatMap(textsIn)
    .filter(({ type }) => type === kind)
    .map(part => part.text ?? part.refusal)
    .join('');
const responseUsage = (usage: Usage) => ({
  input_tokens: usage.prompt_tokens,
  output_tokens: usage.completion_tokens,
  total_tokens: usage.prompt_tokens + usage.completion_tokens,
  input_tokens_details: { cached_tokens: usage.prompt_tokens_details.cached_tokens },
  output_tokens_details: { reasoning_tokens: usage.completion_tokens_details?.reasoning_tokens ?? 0 },
});

describe.each(['message', 'item', 'summary'] as const)(
  'any response stream with reasoning as %s',
  placement => {
    const format = responsesOf();
    const asked = (logprobs: boolean, encrypts = false): Partial<ChatRequest> => ({
      client: { kept: { placement, names, encrypts: encrypts && placement !== 'message' } },
      parameters: { logprobs },
    });

    it('ends with the response that a request without a stream gets', () => {
      forAny(({ chunks, whole, isOrdered }, isAsked) => {
        // As items of their own, reasoning that comes again and a text after calls stand where they were streamed.
        fc.pre(isOrdered || placement === 'message');
        const request = asked(isAsked, isAsked);
        const { last, items } = readResponse(streamedBy(format, chunks, request));
        const expected = JSON.parse(format.renderReply(identity(request), whole));
        expect(last.response).toEqual(expected);
        const usage = whole.usage && responseUsage(whole.usage);
        expect([last.usage, expected.usage]).toEqual([usage, usage ?? null]);
        if (placement !== 'message') expect(items).toEqual(expected.output);
      }, 150);
    });

    it('says in its items what was said, in whatever order', () => {
      forAny(({ chunks, whole }, isAsked) => {
        const { items, last } = readResponse(streamedBy(format, chunks, asked(isAsked)));
        const { message, finish_reason, logprobs } = firstOf(whole);
        const kind = placement === 'summary' ? 'summary_text' : 'reasoning_text';
        expect(joined(items, kind)).toBe(message.reasoning ?? '');
        expect(joined(items, 'output_text')).toBe(message.content ?? '');
        expect(joined(items, 'refusal')).toBe(message.refusal ?? '');
        const entries = items.flatMap(textsIn).flatMap(part => part.logprobs ?? []);
        expect(entries).toEqual(
          isAsked ? ((logprobs as { content: object[] } | undefined)?.content ?? []) : [],
        );
        const calls = items.filter(({ type }) => type.endsWith('_call'));
        expect(calls.map(({ name, namespace, arguments: text }) => [name, namespace, text])).toEqual(
          (message.tool_calls ?? []).map(({ function: { name, arguments: text } }) => [
            names.toolOf(name).name,
            names.toolOf(name).namespace,
            name === 'note' ? undefined : text,
          ]),
        );
        const isCut = isCutOff(finish_reason);
        expect(last.type).toBe(isCut ? 'response.incomplete' : 'response.completed');
        expect(items.some(({ status }) => status === 'incomplete')).toBe(isCut);
        if (placement !== 'message') expect(last.response?.output).toEqual(items);
      });
    });

    it('has the usage so far on every event if asked, and else on the last alone', () => {
      forAny(({ chunks, whole }, isAsked) => {
        const stream = openStream(format, { ...asked(false), ...(isAsked && running) });
        for (const { events, usage } of byChunk(stream, chunks))
          for (const event of events)
            expect(event.json?.usage).toEqual(isAsked && usage ? responseUsage(usage) : undefined);
        const last = eventsIn(stream.end())
          .slice(0, -1)
          .map(event => event.json?.usage);
        const usage = whole.usage && responseUsage(whole.usage);
        expect(last).toEqual(last.map((_, at) => (isAsked || at === last.length - 1 ? usage : undefined)));
      });
    });

    it('adds up in the client of OpenAI to its last event', async () => {
      await forAnySdk(async ({ chunks }, size) => {
        const text = streamedBy(format, chunks, asked(true));
        const { last, items } = readResponse(text);
        const { response, texts } = await responseBySdk(text, size);
        expect(json(response)).toMatchObject(json(last.response));
        const told = items.flatMap(({ id, content = [], ...item }): [string, string | undefined][] => [
          ...content.flatMap((part, at): [string, string | undefined][] =>
            part.type === 'output_text' ? [[`${id} ${at}`, part.text]] : [],
          ),
          [id, item.arguments],
        ]);
        expect(texts).toEqual(Object.fromEntries(told.filter(([, said]) => said)));
      });
    });
  },
);

const messageUsage = (usage: Usage) => ({
  input_tokens:
    usage.prompt_tokens -
    usage.prompt_tokens_details.cached_tokens -
    (usage.prompt_tokens_details.cache_creation_tokens ?? 0),
  cache_creation_input_tokens: usage.prompt_tokens_details.cache_creation_tokens ?? 0,
  cache_read_input_tokens: usage.prompt_tokens_details.cached_tokens,
  output_tokens: usage.completion_tokens,
  ...(usage.completion_tokens_details && {
    output_tokens_details: { thinking_tokens: usage.completion_tokens_details.reasoning_tokens },
  }),
});
const noUsage = {
  input_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 0,
};

describe('any Messages stream', () => {
  const wholeOf = ({ whole }: AnyReply) => {
    const message = JSON.parse(messageFormat.renderReply(identity(), whole));
    expect(message.usage).toEqual(whole.usage ? messageUsage(whole.usage) : null);
    return { ...message, usage: message.usage ?? noUsage };
  };
  type Told = ReturnType<typeof readMessage>['message'];
  /** Texts of a kind joined, without what separates blocks, and calls with their input. */
  const meaningOf = ({ content, ...message }: Told) => {
    const joinedIn = (kind: string) => content.map(block => block[kind] ?? '').join('');
    const calls = content.filter(({ type }) => type === 'tool_use');
    return { ...message, calls, text: joinedIn('text'), thinking: joinedIn('thinking').replace(/\s/g, '') };
  };

  it('adds up to the whole message, block by block where it says its kinds in order', () => {
    forAny(reply => {
      const { message, running: told } = readMessage(streamedBy(messageFormat, reply.chunks));
      expect(told).toEqual([]);
      if (reply.isOrdered && reply.isSignedAlike) expect(message).toEqual(wholeOf(reply));
      expect(meaningOf(message)).toEqual(meaningOf(wholeOf(reply)));
    }, 150);
  });

  it('begins with the tokens of the prompt, and has the usage so far behind what each chunk says if asked', () => {
    forAny(({ chunks }, isAsked) => {
      const stream = openStream(messageFormat, isAsked ? running : {});
      const told = byChunk(stream, chunks);
      const [{ json: start }] = told[0]!.events as [(typeof told)[0]['events'][0]];
      const before = { ...noUsage, input_tokens: prompt_tokens };
      expect(start).toHaveProperty(
        'message.usage',
        chunks[0]?.usage ? messageUsage(chunks[0].usage) : before,
      );
      for (const { events, usage, isEnded } of told) {
        const deltas = events.filter(({ event }) => event === 'message_delta');
        const isTold = isAsked && usage && !isEnded && events.length > 0;
        const delta = { stop_reason: null, stop_sequence: null };
        const expected = { type: 'message_delta', delta, usage: usage && messageUsage(usage) };
        expect(deltas.map(event => event.json)).toEqual(isTold ? [expected] : []);
        if (isTold) expect(events.at(-1)?.event).toBe('message_delta');
      }
    });
  });

  it('adds up in the client of Anthropic to the whole message', async () => {
    await forAnySdk(async (reply, size) => {
      // It completes a call that was cut off.
      fc.pre(firstOf(reply.whole).finish_reason !== 'length');
      const text = streamedBy(messageFormat, reply.chunks, running);
      const message = await messageBySdk(text, size);
      expect(meaningOf(message as never)).toEqual(meaningOf(wholeOf(reply)));
      expect(message.content).toEqual(readMessage(text).message.content);
    });
  });
});

describe('any stream that breaks', () => {
  const broke = refusal('provider_broke_off');
  const { message } = broke;
  const cut = fc.tuple(anyReply, fc.double({ min: 0, max: 1, noNaN: true }), fc.boolean());
  /** The events up to a break anywhere before the end, those of the error and those of the end. */
  const forAnyBreak = (
    format: Parameters<typeof openStream>[0],
    check: (before: SentEvent[], events: SentEvent[], isFinishLost: boolean) => void,
  ) =>
    fc.assert(
      fc.property(cut, ([{ chunks }, where, isFinishLost]) => {
        const stream = openStream(format);
        const lost = chunks.findIndex(({ choices }) =>
          choices.some(one => one.index === 0 && one.finish_reason),
        );
        const some = chunks.slice(0, isFinishLost ? lost : Math.floor(where * (chunks.length + 1)));
        const before = eventsIn(some.map(chunk => stream.chunk(chunk)).join(''));
        check(before, eventsIn((isFinishLost ? '' : stream.error(broke)) + stream.end()), isFinishLost);
      }),
      { numRuns: 60 },
    );
  const done = { event: undefined, json: undefined };

  it('has an error in the envelope and the end of chat completions', () => {
    forAnyBreak(chatOf(), (_, events, isFinishLost) => {
      const error = { event: undefined, json: { error: { message, type: 'provider_error' } } };
      expect(events).toEqual(isFinishLost ? [done] : [error, done]);
    });
  });

  it('has an error, a failed response and the end of responses, numbered behind what was begun', () => {
    forAnyBreak(responsesOf(), (before, events, isFinishLost) => {
      const begin = before.length > 0 ? [] : ['response.created', 'response.in_progress'];
      expect(events.map(({ event }) => event)).toEqual([...begin, 'error', 'response.failed', undefined]);
      expect([...before, ...events].map(event => event.json?.sequence_number)).toEqual([
        ...Array.from({ length: before.length + events.length - 1 }, (_, at) => at),
        undefined,
      ]);
      if (isFinishLost) return;
      const [error, failed] = events.slice(-3);
      const told = { message, type: 'provider_error', code: 'provider_error', param: null };
      expect(error?.json).toMatchObject({ code: 'provider_error', message, param: null, error: told });
      const response = {
        status: 'failed',
        error: { code: 'server_error', message },
        output: [],
        usage: null,
      };
      expect(failed?.json).toMatchObject({ response });
    });
  });

  it('has an error at the end of Messages, and nothing behind it', () => {
    forAnyBreak(messageFormat, (_, events, isFinishLost) => {
      expect(events.map(({ event }) => event)).toEqual(['error']);
      const error = { type: 'api_error', ...(!isFinishLost && { message }) };
      expect(events[0]?.json).toMatchObject({ type: 'error', error });
    });
  });
});
