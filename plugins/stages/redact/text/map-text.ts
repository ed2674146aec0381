import type {
  ChatRequest,
  Choice,
  Chunk,
  ChunkChoice,
  Completion,
  ContentPart,
  Message,
  ReplyMessage,
  StreamController,
  StreamTransformer,
  TextPart,
  ToolCall,
} from '../../../../src/plugin.ts';
import { ArgumentsMapper } from './arguments-mapper.ts';
import { ChoiceMapper, dropMatched, dropReadable, hasMatch } from './choice-mapper.ts';
import { LogprobsMapper } from './logprobs-mapper.ts';
import { PlainTextMapper, type Replacement, TextReplacer } from './text-replacer.ts';

/** How text is searched. */
export interface MapTextOptions {
  /** The longest match, and the most that a stream holds back of a text, in UTF-16 units. 256 without it. */
  readonly window?: number;
}

/** Replaces text wherever it stands in requests and replies, with the same result for streams, however they are cut. */
export interface TextMap {
  /** Maps a text that is whole. */
  text(text: string): string;
  /** Maps the content, the reasoning and the tool call arguments of all messages, in place. Signed reasoning that can be read is dropped. */
  request(request: ChatRequest): void;
  /** The reply with its content, reasoning, refusals, tool call arguments and log probabilities mapped. Signed reasoning that can be read is dropped. */
  reply(reply: Completion): Completion;
  /** A transformer that does the same with one stream. Holds back only what may still become a match. */
  stream(): StreamTransformer;
}

/**
 * `replaceAll` for requests, replies and streams. Tool call arguments stay JSON; log probabilities of replaced text are dropped. At each
 * place the longest match counts, and of equally long ones the first replacement. Throws an Error for a pattern that cannot be matched in
 * time linear in the text: lookaround, back references, lazy quantifiers.
 */
export function mapText(
  replacements: readonly Replacement[],
  { window = 256 }: MapTextOptions = {},
): TextMap {
  if (!Number.isInteger(window) || window < 1)
    throw new Error(`mapText: window must be an integer of at least 1, and is ${window}`);
  const replacer = new TextReplacer(replacements, window);
  const text = (whole: string) => replacer.replaceAll(whole);
  const mapCalls = (calls: readonly ToolCall[]): ToolCall[] =>
    calls.map(call => {
      const mapper = new ArgumentsMapper(replacer, window);
      const mapped = mapper.push(call.function.arguments) + mapper.end();
      return { ...call, function: { ...call.function, arguments: mapped } };
    });
  return {
    text,
    request({ messages }) {
      for (const message of messages) {
        if (message.content) message.content = mapContent(message.content, replacer);
        if (message.reasoning) message.reasoning = text(message.reasoning);
        dropReadable(message);
        if (message.tool_calls) message.tool_calls = mapCalls(message.tool_calls);
      }
    },
    reply: reply => ({
      ...reply,
      choices: reply.choices.map(choice => mapChoice(choice, replacer, text, mapCalls)),
    }),
    stream: () => new TextMapTransformer(replacer, window),
  };
}

/** The parts of a message are read as one text, so a match may begin in one and end in the next. */
function mapContent(
  content: NonNullable<Message['content']>,
  replacer: TextReplacer,
): string | ContentPart[] {
  if (typeof content === 'string') return replacer.replaceAll(content);
  const mapper = new PlainTextMapper(replacer);
  const parts = content.map(part =>
    part.type === 'text' ? { ...withoutChanged(part, replacer), text: mapper.push(part.text) } : { ...part },
  );
  const last = parts.findLast(part => part.type === 'text');
  if (last) last.text += mapper.end();
  return parts.filter((part, at) => {
    const given = content[at]!;
    return part.type !== 'text' || part.text !== '' || parts.length === 1 || isEmptyText(given);
  });
}

/** The part without an item in another API's form that has text to be replaced: what it says in words stays. */
function withoutChanged(part: TextPart, replacer: TextReplacer): TextPart {
  // A file is passed on as it is, like an image.
  if (!part.native || part.native.format === 'openai' || !hasMatch(part.native.item, replacer)) return part;
  const { native, ...rest } = part;
  return rest;
}

const isEmptyText = (part: ContentPart): boolean => part.type === 'text' && part.text === '';

function mapChoice(
  choice: Choice,
  replacer: TextReplacer,
  text: (whole: string) => string,
  mapCalls: (calls: readonly ToolCall[]) => ToolCall[],
): Choice {
  const { logprobs, ...rest } = choice;
  const { content, reasoning, refusal, tool_calls } = choice.message;
  const message: ReplyMessage = {
    ...choice.message,
    ...(content && { content: text(content) }),
    ...(reasoning && { reasoning: text(reasoning) }),
    ...(refusal && { refusal: text(refusal) }),
    ...(tool_calls && { tool_calls: mapCalls(tool_calls) }),
  };
  dropReadable(message);
  dropMatched(message, replacer);
  if (logprobs == null) return { ...choice, message };
  const mapper = new LogprobsMapper(replacer);
  if (tool_calls?.some(call => call.function.arguments.includes('\\'))) mapper.drop();
  return { ...rest, message, logprobs: mapper.map(logprobs, true) ?? { content: [], refusal: null } };
}

class TextMapTransformer implements StreamTransformer {
  readonly #replacer: TextReplacer;
  readonly #window: number;
  readonly #choices = new Map<number, ChoiceMapper>();

  constructor(replacer: TextReplacer, window: number) {
    this.#replacer = replacer;
    this.#window = window;
  }

  transform(chunk: Chunk, controller: StreamController): void {
    if (!chunk.choices.some(concernsText)) return controller.enqueue(chunk);
    const { choices, usage } = chunk;
    const before: ChunkChoice[] = [];
    const after: ChunkChoice[] = [];
    for (const choice of choices) {
      const mapped = concernsText(choice) ? this.#mapperOf(choice.index).map(choice, before) : choice;
      if (mapped) after.push(mapped);
    }
    if (before.length > 0) controller.enqueue({ choices: before });
    if (usage) controller.enqueue({ choices: after, usage });
    else if (after.length > 0) controller.enqueue({ choices: after });
  }

  flush(controller: StreamController): void {
    const rest = [...this.#choices.values()].flatMap(choice => choice.end() ?? []);
    if (rest.length > 0) controller.enqueue({ choices: rest });
  }

  cancel(): void {
    this.#choices.clear();
  }

  #mapperOf(index: number): ChoiceMapper {
    let choice = this.#choices.get(index);
    if (!choice) this.#choices.set(index, (choice = new ChoiceMapper(index, this.#replacer, this.#window)));
    return choice;
  }
}

/** Whether a choice has text, or ends one. */
function concernsText({ delta, finish_reason, logprobs }: ChunkChoice): boolean {
  const { content, reasoning, reasoning_details, refusal, tool_calls, native, annotations } = delta;
  const extras = native || annotations;
  const says = content || reasoning || reasoning_details || refusal || tool_calls?.length || extras;
  return Boolean(says || finish_reason || logprobs);
}
