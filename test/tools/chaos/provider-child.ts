/** A simulated provider as a process: started with its options as JSON, reports every call by the request id in its prompt. */
import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { startSimulator } from '../../../src/simulator/server.ts';
import { wasBrokenOff } from '../../../src/simulator/simulated-exchange.ts';
import { idIn } from './clients/request.ts';

/** One call as the provider saw it. Reported when it arrives, when its first text leaves, and when it has ended. */
export interface Call {
  readonly at: 'begin' | 'text' | 'end';
  readonly call: number;
  readonly id?: string | undefined;
  /** At the end: all was sent, with a status of 200. */
  readonly finished?: boolean;
  /** The last usage that was sent. */
  readonly prompt_tokens?: number | undefined;
  readonly completion_tokens?: number | undefined;
}

const simulator = await startSimulator({ ...JSON.parse(process.argv[2] ?? '{}'), recorded_requests: 1000 });
const report = (call: Call): void => void process.send?.(call);
let calls = 0;

subscribe('http.server.request.start', message => {
  const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
  watch(request, response, ++calls);
});

function watch(request: IncomingMessage, response: ServerResponse, call: number): void {
  let [before, last] = ['', ''];
  let id: string | undefined;
  let isText = false;
  const received = () => simulator.requests.findLast(({ headers }) => headers === request.headers);
  for (const method of ['write', 'end'] as const) {
    const original = response[method] as (...given: unknown[]) => unknown;
    response[method] = ((...given: unknown[]) => {
      const [part] = given;
      if (typeof part === 'string') [before, last] = [last, part];
      if (!isText && hasText(last)) {
        isText = true;
        id = idIn(received()?.text ?? '');
        report({ at: 'text', call, id });
      }
      return original.apply(response, given);
    }) as never;
  }
  response.once('close', () => {
    const finished = response.writableFinished && !wasBrokenOff(response) && response.statusCode === 200;
    id ??= idIn(received()?.text ?? '');
    report({ at: 'end', call, id, finished, ...usageIn(before + last) });
  });
  report({ at: 'begin', call });
}

const hasText = (part: string): boolean =>
  /"(?:content|reasoning|reasoning_content|arguments|text)":"[^"]/.test(part);

function usageIn(text: string): Pick<Call, 'prompt_tokens' | 'completion_tokens'> {
  const at = text.lastIndexOf('"usage":{');
  const usage = at === -1 ? '' : text.slice(at);
  const [prompt, completion] = ['prompt', 'completion'].map(
    name => new RegExp(`"${name}_tokens":(\\d+)`).exec(usage)?.[1],
  );
  return completion === undefined
    ? {}
    : { prompt_tokens: Number(prompt), completion_tokens: Number(completion) };
}

process.on('disconnect', () => process.exit());
process.stdout.write(`listening on ${simulator.url}\n`);
