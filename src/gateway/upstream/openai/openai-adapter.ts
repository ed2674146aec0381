import type { Json } from '../../../common/json-object.ts';
import type { forwardedParameters } from '../../dialects/chat-completions/chat-request.ts';
import type { ChatRequest } from '../../exchange/canonical.ts';
import type { Adapter, Target } from '../adapter.ts';
import type { MessageField } from '../attempt/fit-messages.ts';
import { effortFields } from './effort-fields.ts';
import { decodeOpenAiReply, encodeOpenAi } from './openai-format.ts';
import type { OpenAiMessageForm } from './openai-messages.ts';
import { OpenAiStreamDecoder, type OpenAiStreamOptions } from './openai-stream-decoder.ts';

/** How one server differs from others that speak OpenAI's chat completions. */
export interface OpenAiServer
  extends OpenAiStreamOptions,
    OpenAiMessageForm,
    Partial<Pick<Adapter, 'headers' | 'decodeReply' | 'openStream' | 'errorStatus'>> {
  /** `gen_ai.provider.name` on spans. */
  readonly providerName: string;
  /** Request fields of an effort level, for models that do not map it; without it, efforts are not sent. */
  effort?(effort: string): Readonly<Json>;
  /** Whether the server calls the cap of this model `max_completion_tokens`. */
  usesCompletionCap?(model: string): boolean;
  /** Fields added to the body of a request. */
  fields?(request: ChatRequest, target: Target): Readonly<Json>;
  /** Which forwarded parameters of the interface the server takes; those of OpenAI's own API without it. */
  readonly parameters?: TakenParameters;
  /** Parts of messages that the server takes beyond text and tool calls; reasoning and images without it. */
  readonly messageFields?: ReadonlySet<MessageField>;
  /** Asks for usage with every event of a stream, not only with the last. */
  readonly runningUsage?: boolean;
  /** Fields added to the body of a streamed request, beside those that ask for usage. */
  readonly streamFields?: Readonly<Json>;
}

/** Whether each forwarded parameter of the interface is taken, by its name: a new one reaches no server before it stands here. */
export type TakenParameters = { readonly [Name in keyof typeof forwardedParameters]: boolean };

/** What OpenAI's own API takes. */
export const openAiParameters: TakenParameters = {
  top_p: true,
  presence_penalty: true,
  frequency_penalty: true,
  parallel_tool_calls: true,
  user: true,
  prompt_cache_key: true,
  seed: true,
  logit_bias: true,
  logprobs: true,
  top_logprobs: true,
  response_format: true,
  tool_choice: true,
  web_search_options: false,
};

const openAiMessageFields: ReadonlySet<MessageField> = new Set(['reasoning', 'image_url', 'file']);

/** The adapter of a server that speaks OpenAI's chat completions. */
export function openAiAdapter(server: OpenAiServer): Adapter {
  const { providerName, headers, errorStatus, effort, runningUsage, streamFields } = server;
  // Servers ignore running usage unless final usage is requested as well.
  const stream_options = { include_usage: true, ...(runningUsage && { continuous_usage_stats: true }) };
  const streamed = { stream_options, ...streamFields };
  return {
    providerName,
    parameters: namesOf(server.parameters ?? openAiParameters),
    messageFields: server.messageFields ?? openAiMessageFields,
    ...(headers && { headers }),
    ...(errorStatus && { errorStatus }),
    operations: { embeddings: {}, text_completion: {}, rerank: {} },
    encode(request, target) {
      const body: Json = Object.assign(
        encodeOpenAi(request, target, server),
        effort && effortFields(request, target, effort),
        server.fields?.(request, target),
        request.stream && streamed,
      );
      // Here, because a stage may have set the cap as a parameter of its own.
      if (body.max_tokens !== undefined && server.usesCompletionCap?.(target.model)) {
        body.max_completion_tokens = body.max_tokens;
        delete body.max_tokens;
      }
      return { path: '/chat/completions', body };
    },
    decodeReply: server.decodeReply ?? (body => decodeOpenAiReply(body, server)),
    openStream: server.openStream ?? (() => new OpenAiStreamDecoder(server)),
  };
}

const namesOf = (taken: TakenParameters): ReadonlySet<string> =>
  new Set(Object.entries(taken).flatMap(([name, isTaken]) => (isTaken ? name : [])));
