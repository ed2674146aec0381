import type { ChatRequest } from './chat-request.ts';
import type { StreamEvent } from './chunks.ts';
import type { Directives } from './directives.ts';
import type { ErrorShape } from './error-body.ts';
import type { Reply } from './reply.ts';
import type { Source } from './source.ts';

/** A format in which the simulator is asked and answers. */
export interface WireFormat {
  /** Shape of the errors of its requests. */
  readonly errors: ErrorShape;
  /** Reads the body of a request. Throws a Refusal for a bad one. */
  read(body: unknown): ChatRequest;
  /** Throws a Refusal for what the conversation lacks by the options. */
  check(source: Source, body: unknown): void;
  /** Directives beneath those of a request, which are given. */
  directives(own: Directives): Directives;
  /** The start of a whole reply, or of the events of a stream that are not bare; new for every reply. */
  head(model: string, isStream: boolean): string;
  /** The rest of a whole reply. */
  completion(reply: Reply): string;
  /** The events of a stream. */
  events(reply: Reply): Iterable<StreamEvent>;
  /** The event that ends a stream. */
  readonly done: string;
}
