import type { Chunk } from './canonical.ts';

/**
 * A stage's transformer of one stream, in the shape of a WHATWG Transformer. A synchronous `transform` runs in the turn in which the bytes
 * arrive; one that returns a promise pauses the upstream until it resolves.
 */
export interface StreamTransformer {
  /** Called before the upstream is. */
  start?(controller: StreamController): void | Promise<void>;
  /** Gets one chunk, and passes on what it makes of it with `controller.enqueue`. */
  transform(chunk: Chunk, controller: StreamController): void | Promise<void>;
  /** Enqueues chunks that are held back: at the end, and before an error is passed on. */
  flush?(controller: StreamController): void | Promise<void>;
  /** Called instead of `flush` when the output is no longer read: the client left, or this or a later transformer failed. */
  cancel?(): void;
}

/** The output of a transformer. */
export interface StreamController {
  /** Passes `chunk` on, also outside `transform`; ignored after the end. */
  enqueue(chunk: Chunk): void;
  /** Ends the stream here and cancels the upstream. */
  terminate(): void;
  /** Resolves when the client reads again; undefined while it keeps up. For transformers that enqueue more than they receive. */
  ready(): Promise<void> | undefined;
}

/** Receives the chunks of a stream in the turn in which they arrive. Its methods do not throw. */
export interface ChunkReceiver {
  chunk(chunk: Chunk): void;
  end(): void;
  fail(fault: unknown): void;
}

/** A receiver that says when it has enough. */
export interface ChunkSink extends ChunkReceiver {
  /** Ends a batch of chunks. False asks for a pause until `resume`; chunks on their way may still come. */
  flush(): boolean;
}

/** Controls of a stream for the sink that it is pushed into. */
export interface StreamHandle {
  /** Starts the stream, or continues it after a pause. */
  resume(): void;
  /** Ends the stream; its sink is not called again. */
  stop(): void;
}

/** Counts a stream. An error that it throws fails the stream. */
export interface ChunkMeter {
  /** Called for each chunk when the first stage takes it. */
  chunk(chunk: Chunk): void;
  /** Called once, when nothing more is taken. */
  end(): void;
}

/** A stream that has not begun: pushes its chunks into one sink, from the first `resume` on. */
export interface ChunkSource {
  pushInto(sink: ChunkSink): StreamHandle;
}
