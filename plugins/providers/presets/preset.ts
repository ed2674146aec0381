import { z } from 'zod';
import {
  type Adapter,
  type ChatRequest,
  defineProvider,
  invalidField,
  isObject,
  type MessageField,
  openAiAdapter,
  openAiParameters,
  type ProviderDefinition,
  type UpstreamRequest,
} from '../../../src/plugin.ts';

/** A forwarded parameter of the interface. */
export type Parameter = keyof typeof openAiParameters;

/** A server that speaks OpenAI's chat completions, and in what it differs from OpenAI's own. */
export interface Preset
  extends Partial<
      Pick<Adapter, 'credential' | 'errorStatus' | 'errorMessage' | 'decodeReply' | 'openStream'>
    >,
    Pick<ProviderDefinition, 'base_url' | 'efforts' | 'extra_parameters'> {
  /** The value of `adapter` in a configuration. */
  readonly name: string;
  /** What people call it. */
  readonly title: string;
  /** The documents that this follows. */
  readonly source: string;
  /** Where the API is, in a form to fill in, for servers without a `base_url` that all have. */
  readonly address?: string;
  /** The usual variable with the key; undefined for servers that usually have none. */
  readonly key_env?: string;
  /** `gen_ai.provider.name` on spans, if it is not `name`. */
  readonly providerName?: string;
  /** The parameters that the server takes: opt-in, since many refuse a request with any other. */
  readonly takes: readonly Parameter[];
  /** It answers with one choice only, whatever `n` says, or refuses more. */
  readonly isSingle?: boolean;
  /** A type of `response_format` that it refuses. */
  readonly lacksFormat?: 'json_schema' | 'json_object';
  /** Its name of the reasoning that clients send back; without it none is sent. */
  readonly reasoningName?: 'reasoning' | 'reasoning_content';
  /** It signs tool calls in `extra_content` (row o8). */
  readonly signsCalls?: boolean;
  /** Request fields of an effort level; `reasoning_effort` without it. */
  effort?(effort: string): Readonly<Record<string, unknown>>;
  /** It calls the cap `max_completion_tokens`, whatever the model. */
  readonly usesCompletionCap?: boolean;
  /** Changes what is sent, in place of a field under another name or one that it refuses. */
  adjust?(encoded: UpstreamRequest): UpstreamRequest;
}

/** The adapter of a preset. It has no options. */
export function presetProvider(preset: Preset): ProviderDefinition {
  const { name, base_url, efforts, extra_parameters } = preset;
  return defineProvider({
    name,
    schema: z.strictObject({}),
    ...(base_url !== undefined && { base_url }),
    ...(efforts && { efforts }),
    ...(extra_parameters && { extra_parameters }),
    create: () => adapterOf(preset),
  });
}

function adapterOf(preset: Preset): Adapter {
  const { name, reasoningName, effort, usesCompletionCap = false, adjust } = preset;
  const { credential, errorStatus, errorMessage, decodeReply, openStream } = preset;
  const adapter = openAiAdapter({
    providerName: preset.providerName ?? name,
    errorsHaveStatus: true,
    parameters: parametersOf(preset),
    messageFields: messageFieldsOf(preset),
    ...(reasoningName && { reasoningNames: [reasoningName] }),
    effort: effort ?? (reasoning_effort => ({ reasoning_effort })),
    ...(decodeReply && { decodeReply }),
    ...(openStream && { openStream }),
    usesCompletionCap: () => usesCompletionCap,
  });
  return {
    ...adapter,
    ...(credential && { credential }),
    ...(errorStatus && { errorStatus }),
    ...(errorMessage && { errorMessage }),
    encode(request, target) {
      expectAnswerable(request, preset);
      const encoded = adapter.encode(request, target);
      return adjust ? adjust(encoded) : encoded;
    },
  };
}

function parametersOf({ takes }: Preset): typeof openAiParameters {
  const names = Object.keys(openAiParameters) as Parameter[];
  return Object.fromEntries(names.map(name => [name, takes.includes(name)])) as typeof openAiParameters;
}

function messageFieldsOf({ reasoningName, signsCalls }: Preset): ReadonlySet<MessageField> {
  return new Set<MessageField>([
    'image_url',
    ...(reasoningName ? (['reasoning'] as const) : []),
    ...(signsCalls ? (['extra_content'] as const) : []),
  ]);
}

/** Throws `invalid_request` for what would change the answer's form and the server does not do. */
function expectAnswerable({ n, parameters }: ChatRequest, { isSingle, lacksFormat }: Preset): void {
  if (isSingle && n !== undefined && n > 1) throw invalidField('n', 'must be 1 for this model.');
  const { response_format: format } = parameters;
  if (lacksFormat && isObject(format) && format.type === lacksFormat)
    throw invalidField('response_format', `must not be of type ${lacksFormat} for this model.`);
}
