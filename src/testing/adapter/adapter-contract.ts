import type { IncomingHttpHeaders } from 'node:http';
import type { ChatRequest, Choice, ReplyMessage, ToolCall, Usage } from '../../gateway/exchange/canonical.ts';

/** A tool call of a fixture; without an `id`, where the server sends none, any id is right. */
export type ExpectedCall = Omit<ToolCall, 'id'> & {
  /** The id that the server sends. */
  readonly id?: string;
};

/** A choice of a fixture in the canonical form. */
export interface ExpectedChoice extends Omit<Choice, 'message'> {
  /** What the reply says. */
  readonly message: Omit<ReplyMessage, 'tool_calls'> & { readonly tool_calls?: readonly ExpectedCall[] };
}

/** One reply in the server's own format, and what it means in the canonical form. */
export interface AdapterFixture {
  /** kebab-case; named in every message. */
  readonly name: string;
  /** Server-sent events as the server writes them, with their line ends. */
  readonly stream?: string;
  /** The same reply whole, as parsed JSON. */
  readonly reply?: unknown;
  /** What the reply means. */
  readonly choices: readonly ExpectedChoice[];
  /** Absent if the reply says nothing of it. */
  readonly usage?: Usage;
}

/** What a client is shown of an error: a row of the error catalogue. */
export interface ShownError {
  /** HTTP status. */
  readonly status: number;
  /** `error.type` of the envelope. */
  readonly type: string;
  /** The upstream's own message, where the request is at fault; without it any message is right. */
  readonly message?: string;
}

/** One error in the server's own format: a reply of an error status, an error inside a 200, or one in a stream. */
export interface AdapterErrorFixture {
  /** kebab-case; named in every message. */
  readonly name: string;
  /** 200 without it. */
  readonly status?: number;
  /** Headers of the reply, such as `retry-after`. */
  readonly headers?: IncomingHttpHeaders;
  /** Parsed JSON, or text that is not JSON. Either this or `stream`. */
  readonly body?: unknown;
  /** Server-sent events that end in the error. Either this or `body`. */
  readonly stream?: string;
  /** What the client must see of it. */
  readonly shown: ShownError;
}

/** How `checkAdapter` runs an adapter. */
export interface AdapterContract {
  /** The adapter's own options, as in a configuration. */
  readonly options?: unknown;
  /** Replies; at least one with a stream, one with a whole reply and one with tool calls, if the server has them. */
  readonly fixtures: readonly AdapterFixture[];
  /** Errors; none without it. */
  readonly errors?: readonly AdapterErrorFixture[];
  /** The model's name at the provider, for adapters that go by it; `kit-model` without it. */
  readonly model?: string;
  /** Further requests to encode, by name: the fields in which they differ from the least request. */
  readonly requests?: Readonly<Record<string, Partial<ChatRequest>>>;
  /** The longest that decoding one reply or encoding one request may take; 5000 without it. */
  readonly timeout_ms?: number;
}
