import type { ChatRequest, Completion } from '../../canonical.ts';
import type { Json } from '../../json-object.ts';
import type { Adapter, Target } from '../adapter.ts';
import { decodeOpenAiReply, encodeOpenAi } from './openai-format.ts';
import { OpenAiStreamDecoder, type OpenAiStreamOptions } from './openai-stream-decoder.ts';

/** How one server differs from others that speak OpenAI's chat completions. */
export interface OpenAiServer extends OpenAiStreamOptions {
  /** `gen_ai.provider.name` on spans. */
  readonly providerName: string;
  /** Fields added to the body of a request. */
  fields(request: ChatRequest, target: Target): Readonly<Json>;
  /** Fields added to the body of a streamed request; the default asks for usage, without which nothing could be billed. */
  readonly streamFields?: Readonly<Json>;
  /** Decodes a whole reply; the default is `decodeOpenAiReply`. */
  decodeReply?(body: unknown): Completion;
}

/** The adapter of a server that speaks OpenAI's chat completions. */
export function openAiAdapter(server: OpenAiServer): Adapter {
  const { providerName, streamFields = { stream_options: { include_usage: true } } } = server;
  return {
    providerName,
    encode: (request, target) => ({
      path: '/chat/completions',
      body: {
        ...encodeOpenAi(request, target),
        ...server.fields(request, target),
        ...(request.stream && streamFields),
      },
    }),
    decodeReply: body => (server.decodeReply ?? decodeOpenAiReply)(body),
    openStream: () => new OpenAiStreamDecoder(server),
  };
}
