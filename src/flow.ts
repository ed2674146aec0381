import type { Chunk } from './canonical.ts';

/** Takes the chunks of a stream in the turn in which they come. None of this throws. */
export interface ChunkSink {
  chunk(chunk: Chunk): void;
  /** All that came together has been given. False: no more, please, until `resume`; what is on its way may still come. */
  flush(): boolean;
  end(): void;
  fail(fault: unknown): void;
}

/** How a sink steers the stream that flows into it. */
export interface Flow {
  /** More is welcome. The first call begins the stream. */
  resume(): void;
  /** Nothing more is wanted, and the sink is told nothing more, not even an end. */
  stop(): void;
}

/**
 * A stream that can flow in place of being read, from the socket to the writer in one turn: a promise and a turn less for each chunk and
 * layer, a fifth of a stream's CPU. One reads it or lets it flow, never both.
 */
export interface FlowingStream extends AsyncIterable<Chunk> {
  /** `undefined` where something in between has to read. */
  flowInto(sink: ChunkSink): Flow | undefined;
}

/** Lets `stream` flow into `sink` if it can. */
export function flowInto(stream: AsyncIterable<Chunk>, sink: ChunkSink): Flow | undefined {
  return 'flowInto' in stream ? (stream as FlowingStream).flowInto(sink) : undefined;
}
