import { setTimeout as after } from 'node:timers/promises';
import type { Gateway } from './contestants/contestant.ts';
import { requestHeaders } from './conversation.ts';
import { type Task, type TaskName, tasks } from './tasks.ts';

const patience_ms = 20_000;
const one_request_ms = 5000;

/** Waits until a gateway delivers the upstream's answer. Throws what was wrong with the last try when it does not. */
export async function untilAnswering({ port, headers }: Gateway, task: TaskName): Promise<void> {
  const deadline_ms = performance.now() + patience_ms;
  while (true) {
    try {
      return await tryOnce(port, headers ?? {}, tasks[task]);
    } catch (thrown) {
      if (performance.now() > deadline_ms) throw thrown;
      await after(100);
    }
  }
}

async function tryOnce(port: number, extra: Readonly<Record<string, string>>, task: Task): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}${task.path}`, {
    method: 'POST',
    headers: requestHeaders(extra),
    body: task.body,
    signal: AbortSignal.timeout(one_request_ms),
  });
  const text = await response.text();
  if (response.status !== 200 || !task.isAnswered(text))
    throw new Error(`it does not deliver the upstream's answer: ${response.status} ${text.slice(0, 300)}`);
}
