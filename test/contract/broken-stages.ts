import { z } from 'zod';
import { type Chunk, defineStage, type Hooks, usageOf } from '../../src/plugin.ts';

type Read = (chunks: AsyncIterable<Chunk>) => AsyncIterable<Chunk>;

/** A stage without options. */
export const stageOf = (name: string, create: () => Hooks) =>
  defineStage({ name, schema: z.strictObject({}), create })();

/** A stage that does nothing but read the stream. */
export const reading = (name: string, read: Read) =>
  stageOf(name, () => ({ onStream: (_, chunks) => read(chunks) }));

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

export const losesTheTailAtFaults = reading('loses-the-tail-at-faults', async function* (chunks) {
  let held: Chunk | undefined;
  for await (const chunk of chunks) {
    if (held) yield held;
    held = chunk.choices[0]?.delta.content ? chunk : undefined;
    if (!held) yield chunk;
  }
  if (held) yield held;
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

export const swallowsTheFault = reading('swallows-the-fault', async function* (chunks) {
  try {
    yield* chunks;
  } catch {
    // As if the reply were complete.
  }
});

export const throwsAnotherFault = reading('throws-another-fault', async function* (chunks) {
  try {
    yield* chunks;
  } catch (cause) {
    throw new Error('something went wrong', { cause });
  }
});

export const inventsAFinish = reading('invents-a-finish', async function* (chunks) {
  try {
    yield* chunks;
  } catch (fault) {
    yield { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
    throw fault;
  }
});

export const leavesItsSourceOpen = reading('leaves-its-source-open', async function* (chunks) {
  const source = chunks[Symbol.asyncIterator]();
  for (let next = await source.next(); !next.done; next = await source.next()) yield next.value;
});

export const doesNotLetGo = reading('does-not-let-go', async function* (chunks) {
  let ended = false;
  try {
    yield* chunks;
    ended = true;
  } catch (fault) {
    ended = true;
    throw fault;
  } finally {
    if (!ended) await new Promise(() => {});
  }
});

export const neverEnds = reading('never-ends', async function* (chunks) {
  yield* chunks;
  await new Promise(() => {});
});

export const readsEverythingAhead = reading('reads-everything-ahead', async function* (chunks) {
  const queue: Chunk[] = [];
  let wake = () => {};
  let ended = false;
  let fault: unknown;
  const pump = async () => {
    try {
      for await (const chunk of chunks) {
        if (ended) break;
        queue.push(chunk);
        wake();
      }
    } catch (thrown) {
      fault = thrown;
    }
    ended = true;
    wake();
  };
  const pumped = pump();
  try {
    while (!ended || queue.length > 0) {
      const chunk = queue.shift();
      if (chunk) yield chunk;
      else
        await new Promise<void>(resolve => {
          wake = resolve;
        });
    }
    if (fault) throw fault;
  } finally {
    ended = true;
    await pumped;
  }
});

export const collectsEverything = reading('collects-everything', async function* (chunks) {
  const all: Chunk[] = [];
  try {
    for await (const chunk of chunks) all.push(chunk);
  } catch (fault) {
    yield* all;
    throw fault;
  }
  yield* all;
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
  async *onStream(_, chunks) {
    for await (const chunk of chunks) yield withText(chunk, text => text.toUpperCase());
  },
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
  async *onStream(_, chunks) {
    for await (const chunk of chunks) {
      for (const { delta } of chunk.choices)
        for (const { function: called } of delta.tool_calls ?? []) if (called?.name) called.name = 'tool';
      yield chunk;
    }
  },
}));

/** Keeps in the stage what belongs to one reply. */
export const mixesReplies = stageOf('mixes-replies', () => {
  let held: Chunk | undefined;
  return {
    async *onStream(_, chunks) {
      held = undefined;
      const rest = function* () {
        if (held) yield held;
        held = undefined;
      };
      try {
        for await (const chunk of chunks) {
          yield* rest();
          held = chunk;
        }
      } catch (fault) {
        yield* rest();
        throw fault;
      }
      yield* rest();
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
  onStream: (_, chunks) => withStop(chunks),
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
export const endsEarly = reading('ends-early', async function* (chunks) {
  let held: Chunk | undefined;
  try {
    for await (const chunk of chunks) {
      if (chunk.choices[0]?.delta.content) {
        if (held) yield held;
        held = chunk;
      } else yield chunk;
    }
  } catch (fault) {
    if (held) yield held;
    throw fault;
  }
  if (held) yield held;
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
