import { z } from 'zod';
import type { ChatRequest, Chunk, Completion } from '../canonical.ts';
import type { Model } from '../catalog/catalog.ts';
import type { GatewayError } from '../errors.ts';

/** What a reply is called on the wire, the same in every chunk of a stream (protocol d1), and what it answers. */
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

/** Writes one stream: each method returns SSE text, whole events only. */
export interface StreamRenderer {
  chunk(chunk: Chunk): string;
  /** The error event of a stream that has begun (protocol c1, c5), without the end. */
  error(error: GatewayError): string;
  /** The end of every stream, after an error as well. */
  end(): string;
}

/** A format in which replies are generated. Checks shape only; what depends on the catalog is checked by the `validation` stage. */
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
  /** JSON; absent where the status allows no body. */
  readonly body?: string;
}

export interface DialectSetup {
  /** The catalog. */
  readonly models: readonly Model[];
}

/** What is known of a dialect before any option. */
export interface DialectFacts<Name extends string = string> {
  /** In lower case with dots: the endpoint in metrics, spans and the ledger. */
  readonly name: Name;
  /** Methods by path. */
  readonly paths: Readonly<Record<string, readonly string[]>>;
  /** Whether its paths need no key (spec 5). */
  readonly public: boolean;
  /** The whole body of every error on its paths, from the first header on. */
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
  /** The section of a configuration that has its options, if it has any. */
  readonly section: Section | undefined;
  readonly schema: Schema;
  create(options: z.output<Schema>, setup: DialectSetup): Format;
}

const noOptions = z.strictObject({});

/** Declares a dialect: paths, options with their documentation, and how requests, replies, streams and errors are read and written. */
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
