import { z } from 'zod';
import type { Clock } from '../../common/clock.ts';
import { ConfigError, type ConfigIssue, checkCreated, checkedBy } from '../../common/config-error.ts';
import { isObject } from '../../common/json-object.ts';
import { aFunction, isObjectSchema } from '../../common/methods.ts';
import { nearestName } from '../../common/suggestion.ts';
import type { Log } from '../../telemetry/log.ts';
import type { PluginMetrics } from '../../telemetry/metric-factory.ts';
import type { ChatRequest, Completion, StreamDecoder } from '../exchange/canonical.ts';
import { type MessageField, message_fields } from './attempt/fit-messages.ts';

/** The model that a request goes to. */
export interface Target {
  /** The model's name at the provider. */
  readonly model: string;
  /** Upstream request fields per effort level that the model's configuration sets itself. */
  readonly effortMap: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Request fields, unknown to the interface, that this provider's configuration lets through. */
  readonly extraParameters: readonly string[];
  /** The model's cap on generated tokens, for servers that require one. */
  readonly maxTokens?: number;
  /** The model's text begins inside reasoning: its opening tag stands in the prompt. */
  readonly startsInReasoning?: boolean;
}

/** An upstream request; its body is encoded once, when it is sent. */
export interface UpstreamRequest {
  /** Below the provider's `base_url`, such as `/chat/completions`. */
  readonly path: string;
  /** Beside those of the adapter and the configuration. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Fields of the request that this server's format cannot express; the reply names them in `x-ignored-parameters`. */
  readonly ignored?: readonly string[];
}

/** Turns the canonical form into one server's format and back. */
export interface Adapter {
  /** For spans: a well-known value of `gen_ai.provider.name`, or the server's own name. */
  readonly providerName: string;
  /**
   * Forwarded parameters of the interface that the server takes; `encode` gets no others, and the reply names them in `x-ignored-parameters`.
   * List `response_format` and `tool_choice` even if the server has neither: `encode` can then refuse what would change the answer.
   */
  readonly parameters: ReadonlySet<string>;
  /**
   * Parts of messages beyond text and tool calls that `encode` writes: `reasoning` of assistant messages, which many servers require back
   * with the results of tools; `image_url` parts; `cache_control` marks; `is_error` of results; `extra_content` of
   * calls; `tool_reference` and `native` of texts; `file`, by which files and audio come in OpenAI's form. `encode` gets no others, and the reply names those left out.
   */
  readonly messageFields?: ReadonlySet<MessageField>;
  /** Headers of every request to such a server; the configuration's own replace them. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Headers that carry the key; without it, `Authorization: Bearer`. */
  credential?(api_key: string): Readonly<Record<string, string>>;
  /**
   * Encodes a request without changing it: it may be sent to another upstream later. Of `request.unknown` it sends only what
   * `target.extraParameters` names. Throws a GatewayError that names a field which this server's format cannot express and the request needs.
   */
  encode(request: ChatRequest, target: Target): UpstreamRequest;
  /** Decodes a whole reply. Throws an UpstreamError for an error, a GatewayError for a body that is not a reply. */
  decodeReply(body: unknown): Completion;
  /** Creates the decoder of one stream. */
  openStream(): StreamDecoder;
  /** Operations beside chat that the server has, by name, each with the methods in which its format differs from OpenAI's (`rerank`: from Jina's). */
  readonly operations?: Readonly<Record<string, OperationForm>>;
  /** Standard HTTP status for an error status that the server uses in its own way; `body` is parsed if it was JSON. */
  errorStatus?(status: number, body: unknown): number;
  /** Message of an error reply in a form of the server's own; `undefined` for the forms that `UpstreamError.in` reads. */
  errorMessage?(body: unknown): string | undefined;
}

/** What of an operation a server does in its own way. */
export type OperationForm = Partial<Pick<Adapter, 'encode' | 'decodeReply' | 'openStream'>>;

/** What an adapter factory receives; called once per provider that uses the adapter. */
export interface AdapterSetup {
  /** The provider's name in the configuration. */
  readonly provider: string;
  /** Log with the provider's name on every line. */
  readonly log: Log;
  /** Time of day and of durations; the option `clock` of `createGateway` replaces it. */
  readonly clock: Clock;
  /** Creates the adapter's metrics, shared by its providers; their names begin with `sluice_` and its name. */
  readonly metrics: PluginMetrics;
}

/** An adapter plugin: its name in the configuration, the schema of its options, and its factory. */
export interface ProviderDefinition<Options = unknown> {
  /** The value of `adapter` in the configuration. */
  readonly name: string;
  /** Schema of its options, which stand beside those that every provider has. */
  readonly schema: z.ZodType<Options, unknown>;
  /** Supported effort levels; a model with others needs an `effort_map`. Without it, any level. */
  readonly efforts?: readonly string[];
  /** Address of the API where all use the same; a provider's own `base_url` replaces it. */
  readonly base_url?: string;
  /** Request fields outside the interface that the server takes and that cost nothing of their own, beside a provider's `extra_parameters`. */
  readonly extra_parameters?: readonly string[];
  /** Creates the adapter, once for each provider that uses it. */
  create(options: Options, setup: AdapterSetup): Adapter;
}

/** A definition, whatever its options are. */
export type AnyProviderDefinition = Omit<ProviderDefinition, 'schema' | 'create'> & {
  /** Schema of its options. */
  readonly schema: z.ZodType;
  /** Creates the adapter. */
  create(options: never, setup: AdapterSetup): Adapter;
};

const definitionSchema = z.strictObject({
  name: z.string().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be in kebab-case, such as my-server'),
  schema: z.custom<z.ZodType>(isObjectSchema, 'must be an object schema of zod 4: z.strictObject({…})'),
  efforts: z.array(z.string()).readonly().optional(),
  base_url: z.url().optional(),
  extra_parameters: z.array(z.string()).readonly().optional(),
  create: aFunction('it gets the options and the setup, and returns the adapter'),
});

/**
 * Declares an adapter. The schema describes options beside those that every provider has. Throws a ConfigError if the definition is
 * incomplete or has an unknown name.
 */
export function defineProvider<Schema extends z.ZodType>(
  definition: Omit<ProviderDefinition<z.output<Schema>>, 'schema'> & { readonly schema: Schema },
): ProviderDefinition<z.output<Schema>> {
  return checkedProvider(definition) as ProviderDefinition<z.output<Schema>>;
}

/** `definition` itself. Throws a ConfigError unless `defineProvider` could have returned it. */
export function checkedProvider(definition: unknown): ProviderDefinition {
  checkedBy('defineProvider', definitionSchema, definition);
  return definition as ProviderDefinition;
}

/** Whether a module's export was returned by `defineProvider`, of this copy of the package or another. */
export const isProviderDefinition = (value: unknown): value is ProviderDefinition =>
  isObject(value) && 'schema' in value && typeof value.create === 'function' && !('paths' in value);

const messageFieldsSchema = z
  .instanceof(Set, { error: 'must be a Set of names' })
  .refine(
    names => [...names].every(name => (message_fields as readonly unknown[]).includes(name)),
    `must have no names but: ${message_fields.join(', ')}`,
  );

const adapterSchema = z.object({
  providerName: z.string().min(1),
  encode: aFunction('it returns the request to send'),
  decodeReply: aFunction('it returns the canonical reply'),
  openStream: aFunction('it returns the decoder of a stream'),
  operations: z.record(z.string(), z.object({})).optional(),
  parameters: z.instanceof(Set, { error: 'must be a Set of names' }),
  messageFields: messageFieldsSchema.optional(),
  headers: z.record(z.string(), z.string()).optional(),
  credential: aFunction('it returns the headers that carry the key').optional(),
  errorStatus: aFunction('it returns a standard status').optional(),
  errorMessage: aFunction('it returns the message of an error body').optional(),
});

/** Optional methods, which would silently never be called under another name. */
const optionalMethods = ['credential', 'errorStatus', 'errorMessage'];

/** The adapter that a definition creates. Throws a ConfigError if it is not one, such as a promise of it. */
export function createAdapter(
  definition: ProviderDefinition,
  options: unknown,
  setup: AdapterSetup,
): Adapter {
  const adapter = definition.create(options, setup);
  const source = `what create of the adapter ${definition.name} returns`;
  if (adapter === undefined || adapter === null) {
    const message = 'returned nothing; it must return the adapter';
    throw new ConfigError(`create of the adapter ${definition.name}`, [{ path: [], message }]);
  }
  checkCreated(
    source,
    adapterSchema,
    adapter,
    'must not be a promise; create and all methods of an adapter are synchronous',
  );
  const misspelt = [...misspeltMethods(adapter)];
  if (misspelt.length > 0) throw new ConfigError(source, misspelt);
  return adapter;
}

function* misspeltMethods(adapter: object): Generator<ConfigIssue> {
  for (const [name, value] of Object.entries(adapter)) {
    if (typeof value !== 'function' || Object.hasOwn(adapterSchema.shape, name)) continue;
    const meant = nearestName(name, optionalMethods);
    if (meant !== undefined)
      yield { path: [name], message: `is no method of an adapter; did you mean '${meant}'?` };
  }
}
