import type { Chunk } from './canonical.ts';

/**
 * What a stage does to one stream, in the shape of a WHATWG Transformer. A synchronous `transform` runs in the turn in which the bytes
 * came; one that returns a promise pauses the upstream until it resolves.
 */
export interface StreamTransformer {
  /** Before the upstream is asked. */
  start?(controller: StreamController): void | Promise<void>;
  transform(chunk: Chunk, controller: StreamController): void | Promise<void>;
  /** Enqueues what is held back: at the end, and before a fault is passed on. */
  flush?(controller: StreamController): void | Promise<void>;
  /** In place of `flush` when the output is no longer read: the client left, or this or a later transformer failed. */
  cancel?(): void;
}

/** The output of a transformer. */
export interface StreamController {
  /** Passes `chunk` on, also outside of `transform`; ignored after the end. */
  enqueue(chunk: Chunk): void;
  /** Ends the stream here and cancels the upstream. */
  terminate(): void;
  /** Resolves when the client reads again; undefined while it keeps up. For transformers that enqueue more than they are given. */
  ready(): Promise<void> | undefined;
}

/** Takes the chunks of a stream in the turn in which they come. Its methods do not throw. */
export interface ChunkSink {
  /** False: a stage is still at work on it, and what came with it waits for `resume`. */
  chunk(chunk: Chunk): boolean;
  /** Everything that came together has been given. False asks for a pause until `resume`; chunks on their way may still come. */
  flush(): boolean;
  end(): void;
  fail(fault: unknown): void;
}

/** How a sink controls the stream that is pushed into it. */
export interface StreamHandle {
  /** Begins the stream, or continues it after a pause. */
  resume(): void;
  /** Ends the stream; its sink is not called again. */
  stop(): void;
}

/** A stream that has not begun: pushes its chunks into one sink, from the first `resume` on. */
export interface ChunkSource {
  pushInto(sink: ChunkSink): StreamHandle;
}
