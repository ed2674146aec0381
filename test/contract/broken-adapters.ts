import { z } from 'zod';
import {
  type Adapter,
  type Chunk,
  type Completion,
  defineProvider,
  GatewayError,
  type Message,
  openAiAdapter,
  type ProviderDefinition,
  type StreamDecoder,
  textOf,
  UpstreamError,
  usageOf,
} from '../../src/plugin.ts';

const good = openAiAdapter({ providerName: 'good', effort: effort => ({ reasoning_effort: effort }) });

/** An adapter for OpenAI's format that does these things otherwise. */
export const adapterThat = (name: string, create: () => Partial<Adapter>): ProviderDefinition<object> =>
  defineProvider({ name, schema: z.strictObject({}), create: () => ({ ...good, ...create() }) });

/** An adapter that changes the chunks of streams. */
const streaming = (name: string, change: (chunk: Chunk) => Chunk) =>
  adapterThat(name, () => ({ openStream: () => decoderThat(change) }));

function decoderThat(change: (chunk: Chunk) => Chunk, decoder = good.openStream()): StreamDecoder {
  return {
    decode: event => decoder.decode(event).map(change),
    get complete() {
      return decoder.complete;
    },
  };
}

/** An adapter that changes whole replies. */
const replying = (name: string, change: (reply: Completion) => Completion) =>
  adapterThat(name, () => ({ decodeReply: body => change(good.decodeReply(body)) }));

type Delta = Chunk['choices'][number]['delta'];

const withDelta = (chunk: Chunk, change: (delta: Delta) => object): Chunk => ({
  ...chunk,
  choices: chunk.choices.map(choice => ({ ...choice, delta: change(choice.delta) })),
});

type Call = NonNullable<Delta['tool_calls']>[number];

const withCalls = (name: string, change: (call: Call) => object) =>
  streaming(name, chunk =>
    withDelta(chunk, delta => ({
      ...delta,
      ...(delta.tool_calls && { tool_calls: delta.tool_calls.map(change) }),
    })),
  );

export const goodAdapter = adapterThat('good', () => ({}));

export const losesReasoning = streaming('loses-reasoning', chunk =>
  withDelta(chunk, ({ reasoning: _, ...delta }) => delta),
);

export const losesReasoningOfReplies = replying('loses-reasoning-of-replies', ({ choices, usage }) => ({
  choices: choices.map(({ message: { reasoning: _, ...message }, ...choice }) => ({ ...choice, message })),
  ...(usage && { usage }),
}));

export const countsItsStreams = adapterThat('counts-its-streams', () => {
  let streams = 0;
  return {
    openStream: () => {
      const isFirst = streams++ === 0;
      return decoderThat(chunk =>
        isFirst ? chunk : withDelta(chunk, delta => ({ ...delta, content: 'x' })),
      );
    },
  };
});

export const isAlwaysComplete = adapterThat('is-always-complete', () => ({
  openStream: () => {
    const decoder = good.openStream();
    return { complete: true, decode: event => decoder.decode(event) };
  },
}));

export const hasItsOwnFinishReason = streaming('has-its-own-finish-reason', chunk => ({
  ...chunk,
  choices: chunk.choices.map(choice => ({
    ...choice,
    finish_reason: choice.finish_reason && ('END' as 'stop'),
  })),
}));

export const addsTotalsWrongly = replying('adds-totals-wrongly', reply => ({
  ...reply,
  ...(reply.usage && { usage: { ...reply.usage, total_tokens: 1 } }),
}));

export const countsDown = adapterThat('counts-down', () => ({
  openStream: () => {
    let left = 100;
    return decoderThat(chunk => ({ ...chunk, usage: usageOf(1, left--) }));
  },
}));

export const leavesIdsOut = withCalls('leaves-ids-out', ({ id: _, ...call }) => call);
export const countsCallsFromOne = withCalls('counts-calls-from-one', call => ({
  ...call,
  index: call.index + 1,
}));
export const givesOneId = withCalls('gives-one-id', call => (call.id ? { ...call, id: 'call' } : call));
export const dropsBraces = withCalls('drops-braces', call => ({
  ...call,
  function: { ...call.function, arguments: call.function?.arguments?.replace('{', '') },
}));

export const sharesItsDecoder = adapterThat('shares-its-decoder', () => {
  let text = '';
  return {
    openStream: () => {
      text = '';
      let said = 0;
      return decoderThat(chunk =>
        withDelta(chunk, delta => {
          // All said so far, less what its own stream has handed on: right as long as no other stream speaks.
          text += delta.content ?? '';
          const content = text.slice(said);
          said += content.length;
          return delta.content === undefined ? delta : { ...delta, content };
        }),
      );
    },
  };
});

export const throwsAtErrors = adapterThat('throws-at-errors', () => ({
  errorStatus: (_, body) => (body as { error: { code: number } }).error.code,
}));
export const hasNoErrorStatus = adapterThat('has-no-error-status', () => ({ errorStatus: () => 200 }));
export const forgivesThrottling = adapterThat('forgives-throttling', () => ({
  errorStatus: status => (status === 429 ? 200 : status),
}));
export const blamesTheRequest = adapterThat('blames-the-request', () => ({ errorStatus: () => 400 }));
export const hidesErrors = adapterThat('hides-errors', () => ({
  openStream: () => {
    const decoder = good.openStream();
    return {
      decode: event => (event.data.includes('"error"') ? [] : decoder.decode(event)),
      get complete() {
        return decoder.complete;
      },
    };
  },
}));

export const trustsReplies = adapterThat('trusts-replies', () => ({
  decodeReply(body) {
    const { choices } = body as { choices: { message: { content: string } }[] };
    choices[0]!.message.content?.trim();
    return good.decodeReply(body);
  },
}));
export const loopsForever = adapterThat('loops-forever', () => ({
  decodeReply(body) {
    while (typeof (body as { created?: unknown } | null)?.created !== 'number');
    return good.decodeReply(body);
  },
}));
export const answersAnything = adapterThat('answers-anything', () => ({
  decodeReply(body) {
    try {
      return good.decodeReply(body);
    } catch (thrown) {
      if (UpstreamError.is(thrown)) throw thrown;
      return { choices: [{ index: 0, message: { role: 'assistant', content: '' }, finish_reason: 'stop' }] };
    }
  },
}));

const encoding = (name: string, encode: Adapter['encode']) => adapterThat(name, () => ({ encode }));

export const changesTheRequest = encoding('changes-the-request', (request, target) => {
  request.messages.push({ role: 'user', content: 'and?' });
  return good.encode(request, target);
});
export const dropsStop = encoding('drops-stop', ({ stop: _, ...request }, target) =>
  good.encode(request, target),
);
export const dropsSystem = encoding('drops-system', (request, target) =>
  good.encode({ ...request, messages: request.messages.filter(({ role }) => role !== 'system') }, target),
);
export const forgetsTheEffortMap = encoding('forgets-the-effort-map', (request, target) =>
  good.encode(request, { ...target, effortMap: {} }),
);
export const sendsUnknownFields = encoding('sends-unknown-fields', (request, target) => {
  const { path, body } = good.encode(request, target);
  return { path, body: { ...body, ...request.unknown } };
});
export const sendsADate = encoding('sends-a-date', (request, target) => ({
  path: '/chat/completions',
  body: { ...good.encode(request, target).body, at: new Date(0) },
}));
export const sendsABigInt = encoding('sends-a-bigint', (request, target) => ({
  path: '/chat/completions',
  body: { ...good.encode(request, target).body, at: 1n },
}));
export const sendsASpace = encoding('sends-a-space', ({ model: _, ...request }, target) => ({
  path: `/models/${target.model}`,
  body: good.encode({ ...request, model: '' }, target).body,
}));
export const refusesWithoutAField = encoding('refuses-without-a-field', (request, target) => {
  if (request.n) throw new GatewayError('invalid_request_error', 400, 'no');
  return good.encode(request, target);
});

/** An adapter for OpenAI's format that loses something of messages on the way. */
const losing = (name: string, change: (message: Message) => Message) =>
  encoding(name, (request, target) =>
    good.encode({ ...request, messages: request.messages.map(change) }, target),
  );

export const losesReturnedReasoning = losing('loses-returned-reasoning', message => {
  const { reasoning, reasoning_details, ...rest } = message;
  return rest;
});
export const losesImages = losing('loses-images', message => ({
  ...message,
  ...(message.content && { content: textOf(message.content) }),
}));
export const losesCacheMarks = adapterThat('loses-cache-marks', () => ({
  ...losesImages.create({}, undefined as never),
  messageFields: new Set(['cache_control'] as const),
}));

export const putsTheKeyInThePath = adapterThat('puts-the-key-in-the-path', () => {
  let key = '';
  return {
    credential: api_key => {
      key = api_key;
      return { 'x-key': api_key };
    },
    encode: (request, target) => ({ ...good.encode(request, target), path: `/chat?key=${key}` }),
  };
});
export const forgetsTheKey = adapterThat('forgets-the-key', () => ({
  credential: () => ({ 'x-key': 'mine' }),
}));
export const hasAnOddHeader = adapterThat('has-an-odd-header', () => ({ headers: { 'x key': 'a' } }));

const later = async (...given: Parameters<Adapter['encode']>) => good.encode(...given);
export const encodesLater = encoding('encodes-later', later as never);
export const decodesToNothing = adapterThat('decodes-to-nothing', () => ({
  openStream: () => ({ complete: true, decode: () => undefined as never }),
}));
