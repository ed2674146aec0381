import type { Chunk } from '../canonical.ts';
import { flowInto } from '../flow.ts';

/** Where the chunks of a stream go. */
export interface Outlet {
  /** Nobody takes anything any longer. */
  readonly closed: boolean;
  chunk(chunk: Chunk): void;
  /** Sends what has come. A promise: the other side does not keep up, so wait for it before giving more. */
  flush(): Promise<void> | undefined;
  /** The same once everything that belongs to this turn has come. */
  flushSoon(): Promise<void> | undefined;
}

/** All of `chunks` into `outlet`, as fast as it takes them. Resolves at the end, or when the outlet is closed. */
export async function pump(chunks: AsyncIterable<Chunk>, outlet: Outlet): Promise<void> {
  if (await flown(chunks, outlet)) return;
  for await (const chunk of chunks) {
    outlet.chunk(chunk);
    const drained = outlet.flushSoon();
    if (drained) await drained;
    if (outlet.closed) return;
  }
}

/** Lets the chunks flow to their end. False where they have to be read. */
function flown(chunks: AsyncIterable<Chunk>, outlet: Outlet): Promise<boolean> {
  return new Promise((resolve, reject) => {
    let full = false;
    /** What the end, or a fault, means; while the outlet is full it waits, as whoever reads would. */
    let over: (() => void) | undefined;
    const finish = (act: () => void) => {
      if (full) over ??= act;
      else act();
    };
    const leave = (act: () => void) => {
      flow?.stop();
      act();
    };
    /** False when it is full now, or nobody takes anything any longer. */
    const send = (): boolean => {
      try {
        const drains = outlet.flush();
        if (outlet.closed) {
          leave(() => resolve(true));
          return false;
        }
        full = drains !== undefined;
        drains?.then(drained, reject);
        return !full;
      } catch (thrown) {
        leave(() => reject(thrown));
        return false;
      }
    };
    const drained = () => {
      full = false;
      if (over) over();
      // What came meanwhile goes first.
      else if (send()) flow?.resume();
    };
    const flow = flowInto(chunks, {
      chunk(chunk) {
        try {
          outlet.chunk(chunk);
        } catch (thrown) {
          leave(() => reject(thrown));
        }
      },
      flush: () => !full && send(),
      end: () => finish(() => resolve(true)),
      // A fault behind the last chunk that was taken is nobody's any longer, as it would be to whoever reads.
      fail: fault => finish(() => (outlet.closed ? resolve(true) : reject(fault))),
    });
    if (flow) flow.resume();
    else resolve(false);
  });
}
