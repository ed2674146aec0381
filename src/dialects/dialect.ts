import type { ChatRequest, Chunk, Completion } from '../canonical.ts';
import type { GatewayError } from '../errors.ts';

/** What a reply is called on the wire, the same in every chunk of a stream (protocol d1), and what it answers. */
export interface Identity {
  /** Unique part of the reply's id; the dialect adds its own prefix. */
  readonly key: string;
  /** Unix seconds. */
  readonly created: number;
  /** The model id that the client asked for. */
  readonly model: string;
  /** What was asked, as the stages left it. */
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

/** A public wire format over the canonical form. Checks shape only; what depends on the catalog is the `validation` stage's. */
export interface Dialect {
  /** Throws `invalid_request` naming the first field at fault. Fields with other names than here are told in `wording`. */
  parse(body: Record<string, unknown>): ChatRequest;
  /** The JSON of a whole reply. */
  renderReply(identity: Identity, reply: Completion): string;
  renderStream(identity: Identity): StreamRenderer;
}
