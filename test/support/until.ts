import { setTimeout as sleep } from 'node:timers/promises';

/** Ends a wait that is in vain before jest ends the test, and outlasts whatever else a busy machine does. */
const most_ms = 60_000;

/** Waits until the condition holds. Rejects after a minute, with the condition's text. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end_ms = performance.now() + most_ms;
  // Most conditions hold soon, and one that takes seconds is not worth a look every few milliseconds.
  for (let pause_ms = 5; !(await holds()); pause_ms = Math.min(1.3 * pause_ms, 50)) {
    if (performance.now() > end_ms) throw new Error(`it has not come true in a minute: ${holds}`);
    await sleep(pause_ms);
  }
}
