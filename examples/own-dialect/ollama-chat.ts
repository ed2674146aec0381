import {
  arrayOf,
  type ChatRequest,
  type Chunk,
  defineDialect,
  type Identity,
  parseBody,
  type StreamRenderer,
  setAsideUnknown,
} from 'sluice/plugin';
import { z } from 'zod';

/** Ollama's chat: `POST /api/chat`, streamed as lines of JSON unless the client says otherwise. */
export const ollamaChat = defineDialect({
  name: 'ollama.chat',
  paths: { '/api/chat': ['POST'] },
  options: {
    section: 'ollama_chat',
    schema: z.strictObject({
      thinking: z.boolean().default(true).describe('Show reasoning, as `message.thinking`.'),
    }),
  },
  errorBody: ({ message }) => JSON.stringify({ error: message }),
  create: ({ thinking }) => ({
    parse,

    renderReply(identity, { choices: [choice], usage }) {
      const { content, reasoning } = choice!.message;
      const message = messageOf(content, thinking ? reasoning : undefined);
      return line(identity, { message, ...ending(choice!.finish_reason, usage) });
    },

    renderStream: identity => new LineRenderer(identity, thinking),
  }),
});

const message = z.object({
  role: z.enum(['system', 'user', 'assistant'], 'must be system, user or assistant'),
  content: z.string('must be a string'),
});

const options = z.object({
  temperature: z.number('must be a number').optional(),
  num_predict: z.int('must be an integer').min(1, 'must be at least 1').optional(),
  top_p: z.number('must be a number').optional(),
  seed: z.int('must be an integer').optional(),
});

const body = z.object({
  model: z.string('is required: a model id'),
  messages: arrayOf(message, 'is required: an array of messages', 'must have at least one message'),
  stream: z.boolean('must be true or false').default(true),
  options: options.default({}),
});

const knownFields = new Set(Object.keys(body.shape));
const knownOptions = new Set(Object.keys(options.shape));

/** Stages refuse fields by their canonical names; clients read the names that they have sent. */
const field_names = { max_tokens: 'options.num_predict', temperature: 'options.temperature' };

function parse(given: Record<string, unknown>): ChatRequest {
  const { model, messages, stream, options } = parseBody(body, given);
  const { temperature, num_predict, ...parameters } = options;
  const request: ChatRequest = {
    model,
    messages,
    stream,
    ...(temperature !== undefined && { temperature }),
    ...(num_predict !== undefined && { max_tokens: num_predict }),
    parameters,
    unknown: {},
    client: { field_names },
  };
  setAsideUnknown(request, given, knownFields);
  setAsideUnknown(request, Object(given.options), knownOptions, 'options.');
  return request;
}

const messageOf = (content: string | null | undefined, thinking: string | undefined) => ({
  role: 'assistant',
  content: content ?? '',
  ...(thinking !== undefined && { thinking }),
});

const ending = (done_reason: string, usage: Chunk['usage']) => ({
  done: true,
  done_reason,
  prompt_eval_count: usage?.prompt_tokens ?? 0,
  eval_count: usage?.completion_tokens ?? 0,
});

const line = ({ model, created }: Identity, fields: object): string =>
  JSON.stringify({ model, created_at: new Date(created * 1000).toISOString(), ...fields });

/** Writes a stream as lines of JSON; the last one has the usage. */
class LineRenderer implements StreamRenderer {
  readonly contentType = 'application/x-ndjson';
  readonly #identity: Identity;
  readonly #thinking: boolean;
  #done_reason = 'stop';
  #usage: Chunk['usage'];
  #failed = false;

  constructor(identity: Identity, thinking: boolean) {
    this.#identity = identity;
    this.#thinking = thinking;
  }

  chunk({ choices, usage }: Chunk): string {
    this.#usage = usage ?? this.#usage;
    let text = '';
    for (const { delta, finish_reason } of choices) {
      const thinking = this.#thinking ? delta.reasoning : undefined;
      if (delta.content || thinking) text += this.#message(delta.content, thinking);
      this.#done_reason = finish_reason ?? this.#done_reason;
    }
    return text;
  }

  error({ message }: { readonly message: string }): string {
    this.#failed = true;
    return `${JSON.stringify({ error: message })}\n`;
  }

  end(): string {
    if (this.#failed) return '';
    const fields = { message: messageOf('', undefined), ...ending(this.#done_reason, this.#usage) };
    return `${line(this.#identity, fields)}\n`;
  }

  /** Clients parse every line, so that only a message without text keeps the connection alive. */
  heartbeat(): string {
    return this.#message('', undefined);
  }

  #message(content: string | null | undefined, thinking: string | undefined): string {
    return `${line(this.#identity, { message: messageOf(content, thinking), done: false })}\n`;
  }
}
