import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

/** "Soon", on a machine that runs other tests beside. */
const soon_ms = 15_000;
/** No wait is longer, or than three times its own bound, however busy the machine is: jest ends a test at 90 seconds. */
const most_ms = 60_000;

/** Waits until the condition holds. Rejects after `within_ms`, which is what the test promises, with the condition's text. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  within_ms: number = soon_ms,
): Promise<void> {
  const began_ms = performance.now();
  // Most conditions hold soon, and one that takes seconds is not worth a look every few milliseconds.
  for (let pause_ms = 5; !(await holds()); pause_ms = Math.min(1.3 * pause_ms, 100)) {
    const waited_ms = performance.now() - began_ms;
    if (waited_ms > within_ms && waited_ms > patience_ms(within_ms))
      throw new Error(`not within ${within_ms} ms, nor in ${Math.round(waited_ms)} ms: ${holds}`);
    await sleep(pause_ms);
  }
}

/** As long as `quiet_ms` on a quiet machine: a process that shares each core with two others has a third of it. */
export function patience_ms(quiet_ms: number, longest_ms = Math.max(most_ms, 3 * quiet_ms)): number {
  const share = (loadavg()[0] ?? 0) / availableParallelism();
  return Math.max(quiet_ms, Math.min(quiet_ms * share, longest_ms));
}

/** Calls `fail` once `within_ms` have passed, on a busy machine later. Returns what takes that back. */
export function failAfter(within_ms: number, fail: () => void): () => void {
  const began_ms = performance.now();
  const look = () => {
    const left_ms = began_ms + patience_ms(within_ms) - performance.now();
    if (left_ms <= 0) fail();
    else timer = setTimeout(look, left_ms);
  };
  let timer = setTimeout(look, within_ms);
  return () => clearTimeout(timer);
}
