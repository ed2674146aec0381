import { setImmediate as turn } from 'node:timers/promises';
import { z } from 'zod';
import {
  type Choice,
  type Chunk,
  type Completion,
  defineStage,
  type Exchange,
  fromGenerator,
  type Hooks,
  mapText,
  ReplyAssembler,
  type StreamController,
  type StreamTransformer,
  usageOf,
} from '../../src/published.ts';

type Read = (chunks: AsyncIterable<Chunk>) => AsyncIterable<Chunk>;

/** A stage without options. */
export const stageOf = (name: string, create: () => Hooks) =>
  defineStage({ name, schema: z.strictObject({}), create })();

/** A stage that does nothing but read the stream. */
export const reading = (name: string, read: Read) =>
  stageOf(name, () => ({ onStream: () => fromGenerator(read) }));

/** A stage that does nothing but transform the stream. */
export const transforming = (name: string, create: () => StreamTransformer) =>
  stageOf(name, () => ({ onStream: create }));

/** A stage that passes chunks on, and does something at the end of a reply or at its fault. */
const ending = (
  name: string,
  flush: (isComplete: boolean, controller: StreamController) => void,
  isOver: (isComplete: boolean) => boolean = () => false,
) =>
  transforming(name, () => {
    let isComplete = false;
    return {
      transform({ choices, ...rest }, controller) {
        isComplete ||= choices.some(({ finish_reason }) => finish_reason !== null);
        controller.enqueue({ choices, ...rest });
        if (isOver(isComplete)) controller.terminate();
      },
      flush: controller => flush(isComplete, controller),
    };
  });

/** A chunk that waits for the next one. */
interface Held {
  chunk?: Chunk | undefined;
}

/** Passes the chunk before the last on, and keeps the last. */
const hold =
  (state: Held): StreamTransformer['transform'] =>
  (chunk, controller) => {
    if (state.chunk) controller.enqueue(state.chunk);
    state.chunk = chunk;
  };

const release = (state: Held, controller: StreamController) => {
  if (state.chunk) controller.enqueue(state.chunk);
};

/** A stage that makes one chunk of each. */
export const changing = (name: string, change: (chunk: Chunk) => Chunk) =>
  reading(name, async function* (chunks) {
    for await (const chunk of chunks) yield change(chunk);
  });

/** A stage that makes another choice of each choice of a stream. */
const changingChoices = (name: string, change: (choice: Chunk['choices'][number]) => object) =>
  changing(name, ({ choices, ...rest }) => ({ ...rest, choices: choices.map(change) }) as Chunk);

/** `chunk` with another text in place of each of its texts, and without their log probabilities. */
export const withText = (chunk: Chunk, change: (text: string) => string): Chunk => ({
  ...chunk,
  choices: chunk.choices.map(({ logprobs: _, ...choice }) =>
    choice.delta.content
      ? { ...choice, delta: { ...choice.delta, content: change(choice.delta.content) } }
      : choice,
  ),
});

export const losesTheTail = transforming('loses-the-tail', () => ({ transform: hold({}), flush() {} }));

export const losesTheTailAtFaults = transforming('loses-the-tail-at-faults', () => {
  const held: Held = {};
  let isComplete = false;
  return {
    transform(chunk, controller) {
      isComplete ||= chunk.choices.some(({ finish_reason }) => finish_reason !== null);
      release(held, controller);
      held.chunk = chunk.choices[0]?.delta.content ? chunk : undefined;
      if (!held.chunk) controller.enqueue(chunk);
    },
    flush(controller) {
      if (isComplete) release(held, controller);
    },
  };
});

export const doublesAChunk = reading('doubles-a-chunk', async function* (chunks) {
  let first = true;
  for await (const chunk of chunks) {
    yield chunk;
    if (first && chunk.choices[0]?.delta.content) yield chunk;
    if (chunk.choices[0]?.delta.content) first = false;
  }
});

export const doublesTheEnd = reading('doubles-the-end', async function* (chunks) {
  for await (const chunk of chunks) {
    yield chunk;
    if (chunk.choices[0]?.finish_reason) yield chunk;
  }
});

/** What comes behind the finish, usage or a fault, is not wanted. */
export const swallowsTheFault = ending(
  'swallows-the-fault',
  () => {},
  isComplete => isComplete,
);

export const throwsAnotherFault = ending('throws-another-fault', isComplete => {
  if (!isComplete) throw new Error('something went wrong');
});

export const inventsAFinish = ending('invents-a-finish', (isComplete, controller) => {
  if (!isComplete) controller.enqueue({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
});

export const failsToLetGo = transforming('fails-to-let-go', () => ({
  transform: (chunk, controller) => controller.enqueue(chunk),
  cancel() {
    throw new Error('cannot be cancelled');
  },
}));

export const neverEnds = reading('never-ends', async function* (chunks) {
  yield* chunks;
  await new Promise(() => {});
});

export const readsEverythingAhead = transforming('reads-everything-ahead', () => {
  let pumped = Promise.resolve();
  return {
    // A queue of its own, filled without waiting, and emptied without looking at the client.
    transform(chunk, controller) {
      pumped = pumped.then(turn).then(() => controller.enqueue(chunk));
    },
    flush: () => pumped,
  };
});

export const collectsEverything = transforming('collects-everything', () => {
  const all: Chunk[] = [];
  return {
    transform: chunk => void all.push(chunk),
    flush(controller) {
      for (const chunk of all) controller.enqueue(chunk);
    },
  };
});

/** Sees a tag only where it begins a piece. */
export const splitsByPiece = reading('splits-by-piece', async function* (chunks) {
  let inside = false;
  for await (const chunk of chunks) {
    const choice = chunk.choices[0];
    let text = choice?.delta.content ?? '';
    if (text.startsWith('<think>')) {
      inside = true;
      text = text.slice('<think>'.length);
    } else if (text.startsWith('</think>')) {
      inside = false;
      text = text.slice('</think>'.length);
    }
    if (!choice || choice.finish_reason) yield chunk;
    else {
      const { content: _, ...delta } = choice.delta;
      yield {
        ...chunk,
        choices: [{ ...choice, delta: { ...delta, [inside ? 'reasoning' : 'content']: text } }],
      };
    }
  }
});

export const greetsEveryPiece = changing('greets-every-piece', chunk => withText(chunk, text => `${text}!`));

export const shoutsInStreams = changing('shouts-in-streams', chunk =>
  withText(chunk, text => text.toUpperCase()),
);

const shoutedReply = (reply: Completion): Completion => ({
  ...reply,
  choices: reply.choices.map(({ logprobs: _, ...choice }) => ({
    ...choice,
    message: { ...choice.message, content: choice.message.content?.toUpperCase() ?? null },
  })),
});

export const shoutsInReplies = stageOf('shouts-in-replies', () => ({
  onReply: (_, reply) => shoutedReply(reply),
}));

/** Shouts, streamed or not. */
export const shouts = stageOf('shouts', () => ({
  onReply: (_, reply) => shoutedReply(reply),
  onStream: () =>
    fromGenerator(async function* (chunks) {
      for await (const chunk of chunks) yield withText(chunk, text => text.toUpperCase());
    }),
}));

/** Gives tools other names, streamed or not. */
export const renamesTools = stageOf('renames-tools', () => ({
  onReply: (_, reply) => ({
    ...reply,
    choices: reply.choices.map(({ message, ...choice }) => {
      const calls = message.tool_calls?.map(call => ({
        ...call,
        function: { ...call.function, name: 'tool' },
      }));
      return { ...choice, message: { ...message, ...(calls && { tool_calls: calls }) } };
    }),
  }),
  onStream: () =>
    fromGenerator(async function* (chunks) {
      for await (const chunk of chunks) {
        for (const { delta } of chunk.choices)
          for (const { function: called } of delta.tool_calls ?? []) if (called?.name) called.name = 'tool';
        yield chunk;
      }
    }),
}));

/** Keeps in the stage what belongs to one reply. */
export const mixesReplies = stageOf('mixes-replies', () => {
  const held: Held = {};
  return {
    onStream() {
      held.chunk = undefined;
      return {
        transform: hold(held),
        flush(controller) {
          release(held, controller);
          held.chunk = undefined;
        },
      };
    },
  };
});

export const dropsToolCalls = changingChoices(
  'drops-tool-calls',
  ({ delta: { tool_calls, ...delta }, ...choice }) => ({
    ...choice,
    delta: tool_calls ? { ...delta, tool_calls: tool_calls.slice(0, 1) } : delta,
  }),
);
export const dropsRefusals = changingChoices(
  'drops-refusals',
  ({ delta: { refusal: _, ...delta }, ...choice }) => ({ ...choice, delta }),
);
export const dropsRoles = changingChoices('drops-roles', ({ delta: { role: _, ...delta }, ...choice }) => ({
  ...choice,
  delta,
}));
export const dropsLogprobs = changingChoices('drops-logprobs', ({ logprobs: _, ...choice }) => choice);

export const dropsUsage = changing('drops-usage', ({ choices }) => ({ choices }));

export const roundsUsage = changing('rounds-usage', chunk =>
  chunk.usage ? { ...chunk, usage: usageOf(chunk.usage.prompt_tokens, 10) } : chunk,
);

type AnyChoice = { readonly finish_reason: Choice['finish_reason'] | null };
const stopped = <T extends AnyChoice>(choice: T) => ({
  ...choice,
  finish_reason: choice.finish_reason && ('stop' as const),
});

export const saysStop = changingChoices('says-stop', stopped);

/** Says `stop`, streamed or not. */
export const finishesWithStop = stageOf('finishes-with-stop', () => ({
  onReply: (_, { choices, ...reply }) => ({ ...reply, choices: choices.map(stopped) }) as Completion,
  onStream: () =>
    fromGenerator(async function* (chunks) {
      for await (const chunk of chunks) yield { ...chunk, choices: chunk.choices.map(stopped) };
    }),
}));

export const yieldsNoChunk = reading('yields-no-chunk', async function* (chunks) {
  for await (const { choices } of chunks) yield choices as never;
});

/** Lets the end overtake the last text. */
export const endsEarly = transforming('ends-early', () => {
  const held: Held = {};
  return {
    transform(chunk, controller) {
      if (!chunk.choices[0]?.delta.content) return controller.enqueue(chunk);
      return hold(held)(chunk, controller);
    },
    flush: controller => release(held, controller),
  };
});

/** Lets the answer overtake the reasoning. */
export const answersFirst = reading('answers-first', async function* (chunks) {
  const reasoning: Chunk[] = [];
  for await (const chunk of chunks) {
    if (chunk.choices[0]?.delta.reasoning) reasoning.push(chunk);
    else {
      if (chunk.choices[0]?.finish_reason) yield* reasoning.splice(0);
      yield chunk;
    }
  }
});

export const changesTheModel = stageOf('changes-the-model', () => ({
  onRequest({ model }) {
    Object.assign(model ?? {}, { max_completion_tokens: 1 });
  },
}));

export const throwsInOnReply = stageOf('throws-in-on-reply', () => ({
  onReply(exchange, reply) {
    exchange.log.debug({ characters: reply.choices[0]!.message.content!.length });
    return reply;
  },
}));

export const throwsInOnError = stageOf('throws-in-on-error', () => ({
  onError(exchange, error) {
    exchange.log.debug(exchange.request.model);
    return error;
  },
}));

export const returnsNoError = stageOf('returns-no-error', () => ({
  onError: (_, { code }) => ({ code }) as never,
}));

export const throwsInOnSettled = stageOf('throws-in-on-settled', () => ({
  onSettled(exchange) {
    exchange.log.debug(exchange.request.model);
  },
}));

const said: Chunk = { choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: null }] };
const meaningless = (name: string, hooks: object) => stageOf(name, () => hooks as Hooks);

export const repliesInOnHeaders = meaningless('replies-in-on-headers', {
  onHeaders: () => ({ choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' } }] }),
});
export const deniesWithFalse = meaningless('denies-with-false', { onRequest: async () => false });
export const returnsTheRequest = meaningless('returns-the-request', {
  onRequest: ({ request }: Exchange) => request,
});
export const repliesNothing = meaningless('replies-nothing', {
  onReply(_: Exchange, reply: Completion) {
    for (const { message } of reply.choices) message.reasoning ??= '';
  },
});
export const streamsAChunk = meaningless('streams-a-chunk', { onStream: () => said });
export const streamsAnArray = meaningless('streams-an-array', { onStream: () => [said] });
export const streamsAPromise = meaningless('streams-a-promise', {
  onStream: async () => ({
    transform: (chunk: Chunk, controller: StreamController) => controller.enqueue(chunk),
  }),
});
export const repliesInOnSettled = meaningless('replies-in-on-settled', { onSettled: async () => said });

/** Holds a chunk back, and has no `flush`. */
export const hasNoFlush = transforming('has-no-flush', () => ({ transform: hold({}) }));

/** Enqueues what it held after the stream has ended. */
export const enqueuesTooLate = transforming('enqueues-too-late', () => {
  const held: Held = {};
  return {
    transform: hold(held),
    flush: controller => void setTimeout(() => release(held, controller), 1),
  };
});

/** Has a pool of states, and clears them only at the end of a whole stream. */
export const keepsAHeldChunk = stageOf('keeps-a-held-chunk', () => {
  const pool: Held[] = [];
  return {
    onStream() {
      const state = pool.pop() ?? {};
      return {
        transform: hold(state),
        flush(controller) {
          release(state, controller);
          state.chunk = undefined;
          pool.push(state);
        },
        cancel: () => void pool.push(state),
      };
    },
  };
});

/** Counts in the stage what belongs to an exchange. */
export const countsOn = stageOf('counts-on', () => {
  let streams = 0;
  return {
    onStream() {
      const isFirst = streams++ === 0;
      return {
        transform: (chunk, controller) =>
          controller.enqueue(isFirst ? withText(chunk, text => text.toUpperCase()) : chunk),
      };
    },
  };
});

/** Masks a text in the content, and with `fields` in further places. */
export const masks = (...fields: readonly ('logprobs' | 'reasoning' | 'refusal' | 'tool_calls')[]) =>
  stageOf(['masks', 'content', ...fields].join('-').replace('_', '-'), () => {
    const { reply } = mapText([{ pattern: /jane\.doe@example\.org/, replace: '[email]' }]);
    const kept = (before: Choice, { logprobs, message }: Choice): Choice => {
      const masked = { ...before.message, content: message.content };
      for (const field of fields)
        if (field !== 'logprobs' && field in message) Object.assign(masked, { [field]: message[field] });
      return { ...before, message: masked, ...(fields.includes('logprobs') && { logprobs }) };
    };
    const replied = (whole: Completion): Completion => {
      const { choices } = reply(whole);
      return { ...whole, choices: whole.choices.map((choice, at) => kept(choice, choices[at]!)) };
    };
    return {
      onReply: (_, whole) => replied(whole),
      onStream: () => {
        const chunks: Chunk[] = [];
        return {
          transform: chunk => void chunks.push(chunk),
          flush(controller) {
            const isWhole = chunks.some(({ choices }) => choices[0]?.finish_reason);
            if (!isWhole) return chunks.forEach(controller.enqueue);
            const assembler = new ReplyAssembler();
            for (const chunk of chunks) assembler.add(chunk);
            const { choices, usage } = replied(assembler.reply());
            const deltas = choices.map(({ message: { tool_calls, ...delta }, ...choice }) => {
              const calls = tool_calls?.map((call, index) => ({ index, ...call }));
              return { ...choice, delta: { ...delta, ...(calls && { tool_calls: calls }) } };
            });
            controller.enqueue(usage ? { choices: deltas, usage } : { choices: deltas });
          },
        };
      },
    };
  });
