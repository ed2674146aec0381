/** Tokens as a client shows them. */
export interface ShownUsage {
  readonly input: number | undefined;
  readonly output: number | undefined;
  readonly total: number | undefined;
  readonly cached: number | undefined;
  readonly reasoning: number | undefined;
}

/** A reply as the client's own interface shows it. */
export interface Shown {
  readonly text: string;
  /** Undefined where the client shows none. */
  readonly reasoning: string | undefined;
  readonly usage: ShownUsage;
}

/** A stream as the client shows it: `text` is its pieces joined, `final` what it calls the whole in the end. */
export interface ShownStream extends Shown {
  readonly final: string;
  readonly pieces: number;
}

/** What came of a conversation in which the client ran a tool of its own. */
export interface Rolled {
  readonly answer: string;
  /** The arguments of every call. */
  readonly calls: readonly unknown[];
}

export interface Wish {
  readonly model?: string;
  readonly max_tokens?: number;
  /** Ask for `stream_options.continuous_usage_stats`. */
  readonly continuous?: boolean;
}

/** A client library, driven as its own documentation has it. All methods reject with the library's own error. */
export interface Client {
  reply(question: string, wish?: Wish): Promise<Shown>;
  stream(question: string, wish?: Wish): Promise<ShownStream>;
  /** Offers one tool, `roll({ sides })`, that answers `rolledText`, and goes on until there is an answer. */
  roll(question: string, streamed: boolean): Promise<Rolled>;
  /** Asks one thing and, with the reply as the client keeps it, another. */
  goOn(first: string, second: string, streamed: boolean): Promise<string>;
  /** Reads some pieces of a stream with continuous usage and aborts it; resolves with the output tokens that it has been shown. */
  leave(question: string): Promise<number | undefined>;
}

/** Where a client connects to. */
export interface Connection {
  /** With `/v1`. */
  readonly url: string;
  readonly key: string;
  /** How often the library may repeat a request by itself. */
  readonly retries: number;
}

export type Connect = (connection: Connection) => Client;

/** What the tool `roll` says. */
export const rolledText = 'It shows seventeen';

/** The parameters of the tool `roll` as JSON Schema. */
export const rollSchema = {
  type: 'object' as const,
  properties: { sides: { type: 'integer' as const } },
  required: ['sides'],
  additionalProperties: false as const,
};

/** How many pieces of a stream are read before it is left. */
const pieces_before_leaving = 30;

/** Reads some pieces, aborts, and reads on to the end or to the client's own error about it. */
export async function leaveWithin<Piece>(
  pieces: AsyncIterable<Piece>,
  abort: () => void,
  tokensOf: (piece: Piece) => number | undefined,
): Promise<number | undefined> {
  let seen = 0;
  let tokens: number | undefined;
  try {
    for await (const piece of pieces) {
      tokens = tokensOf(piece) ?? tokens;
      if (++seen === pieces_before_leaving) abort();
    }
  } catch (error) {
    if (!/abort/i.test(String(error))) throw error;
  }
  return tokens;
}
