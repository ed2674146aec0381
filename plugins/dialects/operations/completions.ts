import { z } from 'zod';
import {
  type ChatRequest,
  type Choice,
  type ChunkChoice,
  decodeOpenAiReply,
  defineDialect,
  doneEvent,
  encodeEvent,
  requestFields as fields,
  type Identity,
  isObject,
  type Json,
  OpenAiStreamDecoder,
  type Operation,
  openAiErrorBody,
  parseBody,
  type StreamRenderer,
  setAsideUnknown,
} from '../../../src/plugin.ts';
import { encoderOf, givenOf, inputsIn, messageOf, oneOrAll, textsOrTokens } from './inputs.ts';
import { chatLogprobs, listedLogprobs } from './logprobs.ts';

/** The most choices of a reply, those of all prompts together. */
const max_choices = 128;
/** What OpenAI generates unless it is asked for more. */
const default_tokens = 16;

const atLeastZero = 'must be an integer of at least 0';
const count = z.int(atLeastZero).min(0, atLeastZero).nullish();

const { parallel_tool_calls: _, prompt_cache_key: __, ...sampling } = fields.sharedParameters;
const parameters = {
  ...sampling,
  seed: fields.seed,
  logit_bias: fields.anyObject.nullish(),
  logprobs: fields.topLogprobs,
  echo: fields.flag,
};
const { model, temperature, stream, stream_options } = fields.sharedFields;
const aStop = 'must be a text, or an array of texts that are not empty';
const completionsRequest = z
  .object({
    ...{ model, temperature, stream, stream_options },
    prompt: textsOrTokens('prompt', max_choices),
    suffix: fields.optionalText,
    max_tokens: count,
    n: fields.tokens,
    stop: z
      .custom<string | string[]>(
        value => [value].flat().every(text => typeof text === 'string' && text !== ''),
        aStop,
      )
      .nullish(),
    best_of: z.custom<unknown>(value => value == null || value === 1, 'is not offered.').nullish(),
    ...parameters,
  })
  .superRefine(fields.checkStreamOptions)
  .superRefine(({ prompt, n }, issues) => {
    if (prompt.length * (n ?? 1) > max_choices)
      fields.fault(issues, `must be at most ${max_choices} for all prompts together`, 'n');
  });
const known: ReadonlySet<string> = new Set(Object.keys(completionsRequest.shape));
const names = Object.keys(parameters);

/** OpenAI's older completions, without a chat. */
export const textCompletions = defineDialect({
  name: 'completions',
  operation: 'text_completion',
  paths: { '/v1/completions': ['POST'] },
  errorBody: openAiErrorBody,
  create: () => ({
    parse: parseCompletionsRequest,
    renderReply: (identity, { choices, usage }) =>
      JSON.stringify({ ...headOf(identity), choices: choices.map(shownChoice), usage }),
    renderStream,
  }),
});

/** A request for completions in the canonical form: a message for each prompt, and one for the suffix. */
function parseCompletionsRequest(body: Record<string, unknown>): ChatRequest {
  const from = parseBody(completionsRequest, body);
  const { prompt, suffix, stop, temperature, stream_options } = from;
  const n = prompt.length * (from.n ?? 1);
  const request: ChatRequest = {
    model: from.model,
    messages: suffix ? [...prompt, messageOf('suffix', suffix)] : prompt,
    stream: from.stream ?? false,
    max_tokens: from.max_tokens ?? default_tokens,
    ...fields.present({ temperature, stream_options: stream_options && fields.present(stream_options) }),
    ...(stop?.length && { stop: [stop].flat() }),
    ...(n > 1 && { n }),
    parameters: givenOf(from, names),
    unknown: {},
    client: { field_names: { messages: 'prompt', ...(prompt.length > 1 && { n: 'prompt' }) } },
    operation,
  };
  setAsideUnknown(request, body, known);
  fields.setAsideStreamOptions(request, body);
  return request;
}

const operation: Operation = {
  name: 'text_completion',
  encode: encoderOf('/completions', names, request => {
    const prompts = inputsIn(request, 'prompt');
    const { max_tokens, temperature, stop, stream, n = 1 } = request;
    const each = Math.floor(n / prompts.length);
    return {
      prompt: oneOrAll(prompts),
      ...fields.present({ suffix: inputsIn(request, 'suffix')[0], max_tokens, temperature, stop }),
      ...(each > 1 && { n: each }),
      ...(stream && { stream, stream_options: { include_usage: true } }),
    };
  }),
  decodeReply: body =>
    isObject(body) && Array.isArray(body.choices)
      ? decodeOpenAiReply({ ...body, choices: body.choices.map(choice => chatChoice(choice, 'message')) })
      : decodeOpenAiReply(body),
  openStream: () => new CompletionStreamDecoder(),
};

class CompletionStreamDecoder extends OpenAiStreamDecoder {
  protected override choice(choice: Json): ChunkChoice {
    return super.choice(chatChoice(choice, 'delta') as Json);
  }
}

/** A choice as chat completions have it. */
function chatChoice(choice: unknown, said: 'message' | 'delta'): unknown {
  if (!isObject(choice)) return choice;
  const { text, logprobs, ...rest } = choice;
  return { ...rest, [said]: { content: text }, logprobs: chatLogprobs(logprobs) };
}

const headOf = ({ key, created, model }: Identity) => ({
  id: `cmpl-${key}`,
  object: 'text_completion',
  created,
  model,
});

const shownChoice = ({ index, message, finish_reason, logprobs }: Choice) => ({
  index,
  text: message.content ?? '',
  logprobs: listedLogprobs(logprobs),
  finish_reason,
});

function renderStream(identity: Identity): StreamRenderer {
  const head = headOf(identity);
  return {
    chunk({ choices, usage }) {
      // The first of a choice names a role, which there is none here.
      const said = choices.filter(
        ({ delta, finish_reason, logprobs }) => delta.content || finish_reason || logprobs,
      );
      if (said.length === 0) return '';
      const shown = said.map(({ delta, ...choice }) =>
        shownChoice({ ...choice, message: { content: delta.content ?? '' } } as Choice),
      );
      return encodeEvent(JSON.stringify({ ...head, choices: shown, ...(usage && { usage }) }));
    },
    error: error => encodeEvent(openAiErrorBody(error)),
    end: () => doneEvent,
  };
}
