import { z } from 'zod';
import { checkCreated, checkedBy } from '../../common/config-error.ts';
import { isObject } from '../../common/json-object.ts';
import { aFunction, isObjectSchema } from '../../common/methods.ts';
import type { Model } from '../catalog/catalog.ts';
import type { ChatRequest, Chunk, Completion } from '../exchange/canonical.ts';
import type { GatewayError } from '../exchange/errors.ts';
import type { Endpoint, ExchangeView, Key } from '../exchange/exchange-view.ts';

const section_form = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/;
const path_form = /^(\/[A-Za-z0-9._~-]+)+(\/\*)?$/;

const headerName = z
  .string()
  .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, 'must be the name of a header in lower case, such as x-api-key');

const definitionSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z][a-z0-9]*([.-][a-z0-9]+)*$/, 'must be in lower case, words divided by dots: my.format'),
  paths: z
    .record(
      z.string(),
      z.array(z.string().regex(/^[A-Z]+$/, 'must be a method such as POST')).min(1, 'must list its methods'),
    )
    .refine(
      paths => Object.keys(paths).length > 0 && Object.keys(paths).every(path => path_form.test(path)),
      "must have paths with their methods, such as { '/v1/my-format': ['POST'] }, without a slash at their end; '/v1/my-format/*' stands for all paths below one",
    ),
  public: z.boolean().optional(),
  uncounted: z.boolean().optional(),
  operation: z.string().regex(section_form, 'must be in snake_case, such as embeddings').optional(),
  errorBody: aFunction('it gets the error, and returns the body of the reply'),
  headers: z.strictObject({ key: headerName, request_id: headerName }).partial().optional(),
  options: z
    .strictObject({
      section: z.string().regex(section_form, 'must be in snake_case, such as my_format'),
      schema: z.custom<z.ZodObject>(isObjectSchema, 'must be an object schema of zod 4: z.strictObject({…})'),
      needs: z.string().optional(),
    })
    .optional(),
  create: aFunction('it gets the options and the setup, and returns the format'),
});

const shared = {
  complete: aFunction('it gets the body and the context, and returns a promise of a body').optional(),
  parse: aFunction('it gets the body and the context, and returns the canonical request'),
  renamed: aFunction('it gets the canonical request and the model that a stage has named').optional(),
};

const formatSchema = z.object({
  ...shared,
  keep: aFunction('it gets what renderReply gets, and returns a promise').optional(),
  detach: aFunction('it gets the identity, and returns a promise of what takes the reply').optional(),
  renderReply: aFunction('it returns the body of a whole reply'),
  renderStream: aFunction('it returns the renderer of a stream'),
});

const countsSchema = z.object({
  ...shared,
  answerRequest: aFunction('it returns the body of the reply'),
});

const answersSchema = z.object({
  answer: aFunction('it returns an answer from the catalog; a dialect that generates replies is not public'),
});

/** Id, time and model of a reply, the same in every chunk of its stream, and its request. */
export interface Identity {
  /** Unique part of the reply's id; the dialect adds its own prefix. */
  readonly key: string;
  /** Unix seconds. */
  readonly created: number;
  /** The model id that the client asked for. */
  readonly model: string;
  /** The request, as the stages left it. */
  readonly request: ChatRequest;
  /** Unix seconds now. */
  now_s(): number;
}

/** Writes one stream. Each method returns the text of whole events, server-sent events unless `contentType` says otherwise. */
export interface StreamRenderer {
  /** Header of the reply; `text/event-stream; charset=utf-8` by default. */
  readonly contentType?: string;
  /** One chunk; empty if this format shows nothing of it. */
  chunk(chunk: Chunk): string;
  /** The error event of a stream that has begun, without the end. */
  error(error: GatewayError): string;
  /** Called before `end`, which waits for the promise, if any. */
  ending?(): Promise<void> | undefined;
  /** The end of the stream, also after an error. */
  end(): string;
  /** What is sent so that the connection stays alive, never empty; an SSE comment by default, which other formats do not have. */
  heartbeat?(): string;
}

/** What is known of a request beside its body. */
export interface RequestContext {
  /** Path of the request without its query, as it was sent: percent-encoded. */
  readonly path: string;
  /** The client's headers, names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Name of the account; undefined if the client has none. */
  readonly account_id: string | undefined;
}

type Body = Record<string, unknown>;

/** A format of requests. Checks their shape; the `validation` stage checks what depends on the catalog. */
export interface RequestReader {
  /** Called before `parse`, which gets the body that the promise brings, such as with what is stored; undefined where the body is whole. */
  complete?(body: Body, context: RequestContext): Promise<Body> | undefined;
  /** Throws `invalid_request` naming the first field at fault. Field names that differ from the canonical ones are kept in `client`. */
  parse(body: Record<string, unknown>, context: RequestContext): ChatRequest;
  /**
   * Fits to `model`, which a stage has named, what `parse` has made for the model that the client named. It is undefined if the catalog has
   * none of that name.
   */
  renamed?(request: ChatRequest, model: Model | undefined): void;
}

/** Takes the reply of a request whose client does not wait for it. */
export interface DetachedReply {
  /** The reply that the client gets at once. */
  readonly answer: CatalogAnswer;
  /** Takes the text of the generated stream as it comes. */
  write(text: string): void;
  /** Called once, after the last text: with the error reply if nothing was generated. */
  end(refused?: { readonly status: number; readonly body: string }): void;
}

/** A format of generated replies. */
export interface GenerationFormat extends RequestReader {
  /** The receiver of the reply if the client does not wait for it; `end` ends the work early. Undefined if the client waits. */
  detach?(
    identity: Identity,
    end: (why: 'client_gone' | 'time_limit') => void,
  ): Promise<DetachedReply> | undefined;
  /** Called before `renderReply`, which waits for the promise, if any. */
  keep?(identity: Identity, reply: Completion): Promise<void> | undefined;
  /** The JSON of a whole reply. */
  renderReply(identity: Identity, reply: Completion): string;
  /**
   * Creates the writer of one stream. `promptTokens` returns the tokens of the prompt, estimated unless the upstream has reported them by
   * now: for formats that begin with them. The last chunk has the true figure.
   */
  renderStream(identity: Identity, promptTokens: () => number): StreamRenderer;
}

/**
 * Answers requests by themselves, without an upstream, such as a count of their tokens. They pass the stages as any request does, but count
 * no tokens under limits and in the ledger; an answer of a stage is not used, and `stream` is without effect.
 */
export interface RequestAnswers extends RequestReader {
  /** The JSON of the reply to a request that the stages have let through. `promptTokens` estimates the tokens of its prompt. */
  answerRequest(identity: Identity, promptTokens: () => number): string;
}

/** A format of requests with a body. */
export type RequestFormat = GenerationFormat | RequestAnswers;

/** What `create` of a dialect returns. */
export type DialectFormat = RequestFormat | CatalogAnswers;

/** Answers from the catalog or a store, without an upstream. Stages see only the headers of such requests. */
export interface CatalogAnswers {
  /** The answer to a request with these headers. `path` is as in `parse`, and `body` reads its JSON. Throws a GatewayError if there is nothing there. */
  answer(
    headers: { readonly 'if-none-match'?: string | undefined },
    path: string,
    exchange: ExchangeView,
    body: () => Promise<Body>,
  ): CatalogAnswer | Promise<CatalogAnswer>;
}

/** An answer from the catalog. */
export interface CatalogAnswer {
  /** HTTP status. */
  readonly status: number;
  /** Headers of the reply. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON, or the text of a stream as it comes; absent if the status allows no body. */
  readonly body?: string | AsyncIterable<string>;
}

/** What a dialect factory receives. */
export interface DialectSetup {
  /** The catalog. */
  readonly models: readonly Model[];
  /** Other names of models, where the catalog shows them. */
  readonly aliases?: ModelAliases | undefined;
  /** What the gateway has under a key, such as its stores; absent while a configuration is only checked. */
  get?<T>(key: Key<T>): T | undefined;
}

/** Other names of models. */
export interface ModelAliases {
  /** Those that are listed. */
  readonly names: readonly string[];
  /** The id of the model that `name` stands for; undefined if it is no alias. */
  find(name: string): string | undefined;
}

/** Properties of a dialect that do not depend on its options. */
export interface DialectFacts<Name extends string = string>
  extends Pick<Endpoint, 'public' | 'headers' | 'uncounted'> {
  /** In lower case, words divided by dots: the endpoint in metrics, spans and the ledger. */
  readonly name: Name;
  /** Methods by path. A path that ends in a slash and a star stands for all paths below. Exact paths win, then the longest. */
  readonly paths: Readonly<Record<string, readonly string[]>>;
  /** The body of every error on its paths. */
  errorBody(error: GatewayError): string;
  /** The operation that its requests ask for, if not chat. The dialect is offered if a model of the catalog lists that operation. */
  readonly operation?: string | undefined;
}

/** A public wire format with its options applied. */
export type Dialect = DialectFacts & DialectFormat;

/** A dialect, as `defineDialect` returns it. */
export interface DialectDefinition<
  Name extends string = string,
  Section extends string = string,
  Schema extends z.ZodType = z.ZodType,
  Format extends DialectFormat = DialectFormat,
> extends DialectFacts<Name> {
  /** The section of the configuration with its options, if it has any. */
  readonly section: Section | undefined;
  /** The option without which it is not offered; by default `enabled`, if it has that. */
  readonly needs?: string | undefined;
  /** Schema of its options. */
  readonly schema: Schema;
  /** Creates the dialect with its options. */
  create(options: z.output<Schema>, setup: DialectSetup): Format;
}

/** A definition, whatever its options are. */
export type AnyDialectDefinition = Omit<DialectDefinition, 'create'> & {
  create(options: never, setup: DialectSetup): DialectFormat;
};

const noOptions = z.strictObject({});

type DefinedFacts<Name extends string> = Omit<DialectFacts<Name>, 'public'> & {
  /** Whether its paths need no key; only for answers from the catalog. False by default. */
  readonly public?: boolean;
};

/**
 * Declares a dialect: paths, options, and the format of requests, replies, streams and errors. Throws a ConfigError if the definition is
 * incomplete or has an unknown name.
 */
export function defineDialect<
  const Name extends string,
  Format extends DialectFormat,
  const Section extends string = never,
  Schema extends z.ZodObject = typeof noOptions,
>(
  definition: DefinedFacts<Name> & {
    readonly options?: { readonly section: Section; readonly schema: Schema; readonly needs?: string };
    create(options: z.output<Schema>, setup: DialectSetup): Format;
  },
): DialectDefinition<Name, Section, Schema, Format> {
  checkedBy('defineDialect', definitionSchema, definition);
  const { options, public: isPublic = false, ...rest } = definition;
  const schema = options?.schema ?? (noOptions as unknown as Schema);
  return { ...rest, public: isPublic, section: options?.section, needs: options?.needs, schema };
}

/** Whether a module's export was returned by `defineDialect`, of this copy of the package or another. */
export const isDialectDefinition = (value: unknown): value is DialectDefinition =>
  isObject(value) && isObject(value.paths) && 'schema' in value && typeof value.create === 'function';

/** Creates the dialect of a definition. Throws a ConfigError if `create` returns no format, such as a promise of it. */
export function createDialect(definition: DialectDefinition, options: unknown, setup: DialectSetup): Dialect {
  const { name, paths, public: isPublic, uncounted, errorBody, headers } = definition;
  const format = definition.create(options as Record<string, unknown>, setup);
  const schema = schemaOf(isPublic, Object(format));
  checkCreated(`what create of the dialect ${name} returns`, schema, format);
  const methods = format as unknown as Readonly<Record<string, ((...given: never[]) => unknown) | undefined>>;
  const bound = Object.keys(schema.shape).map(method => [method, methods[method]?.bind(format)]);
  return { name, paths, public: isPublic, uncounted, errorBody, headers, ...Object.fromEntries(bound) };
}

function schemaOf(isPublic: boolean, format: object): z.ZodObject {
  if (isPublic || 'answer' in format) return answersSchema;
  return 'answerRequest' in format ? countsSchema : formatSchema;
}
