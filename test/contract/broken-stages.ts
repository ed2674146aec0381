import { setImmediate as turn } from 'node:timers/promises';
import { z } from 'zod';
import {
  type Chunk,
  defineStage,
  fromGenerator,
  type Hooks,
  type StreamTransformer,
  usageOf,
} from '../../src/plugin.ts';

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

/** Sees whether the reply was complete when it ends. */
class Ends {
  complete = false;

  see({ choices }: Chunk): void {
    this.complete ||= choices.some(({ finish_reason }) => finish_reason !== null);
  }
}

/** A stage that makes one chunk of each. */
export const changing = (name: string, change: (chunk: Chunk) => Chunk) =>
  reading(name, async function* (chunks) {
    for await (const chunk of chunks) yield change(chunk);
  });

/** `chunk` with another text in place of each of its texts. */
export const withText = (chunk: Chunk, change: (text: string) => string): Chunk => ({
  ...chunk,
  choices: chunk.choices.map(choice =>
    choice.delta.content
      ? { ...choice, delta: { ...choice.delta, content: change(choice.delta.content) } }
      : choice,
  ),
});

export const losesTheTail = reading('loses-the-tail', async function* (chunks) {
  let held: Chunk | undefined;
  for await (const chunk of chunks) {
    if (held) yield held;
    held = chunk;
  }
});

export const losesTheTailAtFaults = transforming('loses-the-tail-at-faults', () => {
  const ends = new Ends();
  let held: Chunk | undefined;
  return {
    transform(chunk, controller) {
      ends.see(chunk);
      if (held) controller.enqueue(held);
      held = chunk.choices[0]?.delta.content ? chunk : undefined;
      if (!held) controller.enqueue(chunk);
    },
    flush(controller) {
      if (held && ends.complete) controller.enqueue(held);
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

export const swallowsTheFault = transforming('swallows-the-fault', () => {
  const ends = new Ends();
  return {
    transform(chunk, controller) {
      ends.see(chunk);
      controller.enqueue(chunk);
      // What comes behind the finish, usage or a fault, is not wanted.
      if (ends.complete) controller.terminate();
    },
  };
});

export const throwsAnotherFault = transforming('throws-another-fault', () => {
  const ends = new Ends();
  return {
    transform(chunk, controller) {
      ends.see(chunk);
      controller.enqueue(chunk);
    },
    flush() {
      if (!ends.complete) throw new Error('something went wrong');
    },
  };
});

export const inventsAFinish = transforming('invents-a-finish', () => {
  const ends = new Ends();
  return {
    transform(chunk, controller) {
      ends.see(chunk);
      controller.enqueue(chunk);
    },
    flush(controller) {
      if (!ends.complete) controller.enqueue({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
    },
  };
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

/** Shouts, streamed or not. */
export const shouts = stageOf('shouts', () => ({
  onReply: (_, reply) => ({
    ...reply,
    choices: reply.choices.map(choice => ({
      ...choice,
      message: { ...choice.message, content: choice.message.content?.toUpperCase() ?? null },
    })),
  }),
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
  let held: Chunk | undefined;
  return {
    onStream() {
      held = undefined;
      return {
        transform(chunk, controller) {
          if (held) controller.enqueue(held);
          held = chunk;
        },
        flush(controller) {
          if (held) controller.enqueue(held);
          held = undefined;
        },
      };
    },
  };
});

export const dropsToolCalls = changing('drops-tool-calls', ({ choices, ...rest }) => ({
  ...rest,
  choices: choices.map(({ delta: { tool_calls, ...delta }, ...choice }) => ({
    ...choice,
    delta: tool_calls ? { ...delta, tool_calls: tool_calls.slice(0, 1) } : delta,
  })),
}));

export const dropsUsage = changing('drops-usage', ({ choices }) => ({ choices }));

export const roundsUsage = changing('rounds-usage', chunk =>
  chunk.usage ? { ...chunk, usage: usageOf(chunk.usage.prompt_tokens, 10) } : chunk,
);

async function* withStop(chunks: AsyncIterable<Chunk>): AsyncGenerator<Chunk> {
  for await (const { choices, ...rest } of chunks) {
    const stopped = choices.map(choice =>
      choice.finish_reason ? { ...choice, finish_reason: 'stop' as const } : choice,
    );
    yield { ...rest, choices: stopped };
  }
}

export const saysStop = reading('says-stop', withStop);

/** Says `stop`, streamed or not. */
export const finishesWithStop = stageOf('finishes-with-stop', () => ({
  onReply: (_, reply) => ({
    ...reply,
    choices: reply.choices.map(choice => ({ ...choice, finish_reason: 'stop' as const })),
  }),
  onStream: () => fromGenerator(withStop),
}));

export const dropsRefusals = changing('drops-refusals', chunk => ({
  ...chunk,
  choices: chunk.choices.map(({ delta: { refusal: _, ...delta }, ...choice }) => ({ ...choice, delta })),
}));

export const dropsRoles = changing('drops-roles', chunk => ({
  ...chunk,
  choices: chunk.choices.map(({ delta: { role: _, ...delta }, ...choice }) => ({ ...choice, delta })),
}));

export const dropsLogprobs = changing('drops-logprobs', chunk => ({
  ...chunk,
  choices: chunk.choices.map(({ logprobs: _, ...choice }) => choice),
}));

export const yieldsNoChunk = reading('yields-no-chunk', async function* (chunks) {
  for await (const { choices } of chunks) yield choices as never;
});

/** Lets the end overtake the last text. */
export const endsEarly = transforming('ends-early', () => {
  let held: Chunk | undefined;
  return {
    transform(chunk, controller) {
      if (!chunk.choices[0]?.delta.content) return controller.enqueue(chunk);
      if (held) controller.enqueue(held);
      held = chunk;
    },
    flush(controller) {
      if (held) controller.enqueue(held);
    },
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
