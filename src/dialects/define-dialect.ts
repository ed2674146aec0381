import { z } from 'zod';
import type { ChatRequest, Chunk, Completion } from '../canonical.ts';
import type { Model } from '../catalog/catalog.ts';
import type { GatewayError } from '../errors.ts';

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

/** Writes one stream. Each method returns SSE text of whole events. */
export interface StreamRenderer {
  chunk(chunk: Chunk): string;
  /** The error event of a stream that has begun, without the end. */
  error(error: GatewayError): string;
  /** The end of the stream, also after an error. */
  end(): string;
}

/** A format of generated replies. Checks the shape of requests; the `validation` stage checks what depends on the catalog. */
export interface GenerationFormat {
  /** Throws `invalid_request` naming the first field at fault. Field names that differ from the canonical ones are kept in `client`. */
  parse(body: Record<string, unknown>): ChatRequest;
  /** The JSON of a whole reply. */
  renderReply(identity: Identity, reply: Completion): string;
  renderStream(identity: Identity): StreamRenderer;
}

/** Answers from the catalog, without a request body and without an upstream. */
export interface CatalogAnswers {
  answer(headers: { readonly 'if-none-match'?: string | undefined }): CatalogAnswer;
}

export interface CatalogAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON; absent if the status allows no body. */
  readonly body?: string;
}

export interface DialectSetup {
  /** The catalog. */
  readonly models: readonly Model[];
}

/** Properties of a dialect that do not depend on its options. */
export interface DialectFacts<Name extends string = string> {
  /** In lower case with dots: the endpoint in metrics, spans and the ledger. */
  readonly name: Name;
  /** Methods by path. */
  readonly paths: Readonly<Record<string, readonly string[]>>;
  /** Whether its paths need no key. */
  readonly public: boolean;
  /** The body of every error on its paths. */
  errorBody(error: GatewayError): string;
}

/** A public wire format with its options applied. */
export type Dialect = DialectFacts & (GenerationFormat | CatalogAnswers);

export interface DialectDefinition<
  Name extends string = string,
  Section extends string = string,
  Schema extends z.ZodType = z.ZodType,
  Format extends GenerationFormat | CatalogAnswers = GenerationFormat | CatalogAnswers,
> extends DialectFacts<Name> {
  /** The section of the configuration with its options, if it has any. */
  readonly section: Section | undefined;
  readonly schema: Schema;
  create(options: z.output<Schema>, setup: DialectSetup): Format;
}

const noOptions = z.strictObject({});

/** Declares a dialect: paths, options, and the format of requests, replies, streams and errors. */
export function defineDialect<
  const Name extends string,
  Format extends GenerationFormat | CatalogAnswers,
  const Section extends string = never,
  Schema extends z.ZodObject = typeof noOptions,
>(
  definition: DialectFacts<Name> & {
    readonly options?: { readonly section: Section; readonly schema: Schema };
    create(options: z.output<Schema>, setup: DialectSetup): Format;
  },
): DialectDefinition<Name, Section, Schema, Format> {
  const { options, ...rest } = definition;
  return { ...rest, section: options?.section, schema: options?.schema ?? (noOptions as unknown as Schema) };
}
