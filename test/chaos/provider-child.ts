/** A simulated provider as a process: started with its options as JSON, tells every call by the request id in its prompt. */
import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { startSimulator } from '../../src/simulator/server.ts';
import { wasBrokenOff } from '../../src/simulator/simulated-exchange.ts';
import { idIn } from './clients/errand.ts';

/** One call as the provider saw it. Told when it arrives, when its first word leaves, and when it has ended. */
export interface Call {
  readonly at: 'begin' | 'word' | 'end';
  readonly call: number;
  readonly id?: string | undefined;
  /** At the end: all was sent, with a status of 200. */
  readonly finished?: boolean;
  /** The last usage that was sent. */
  readonly prompt_tokens?: number | undefined;
  readonly completion_tokens?: number | undefined;
}

const simulator = await startSimulator({
  ...(JSON.parse(process.argv[2] ?? '{}') as object),
  recorded_requests: 1000,
});
const tell = (call: Call): void => void process.send?.(call);
let calls = 0;

subscribe('http.server.request.start', message => {
  const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
  watch(request, response, ++calls);
});

function watch(request: IncomingMessage, response: ServerResponse, call: number): void {
  let [last, before] = ['', ''];
  let id: string | undefined;
  let isWord = false;
  const idOf = () =>
    idIn(simulator.requests.findLast(({ headers }) => headers === request.headers)?.text ?? '');
  const look = (part: unknown): void => {
    if (typeof part !== 'string') return;
    [before, last] = [last, part];
    if (isWord || !hasWord(part)) return;
    isWord = true;
    id ??= idOf();
    tell({ at: 'word', call, id });
  };
  const { write, end } = response;
  response.write = ((...given: Parameters<typeof write>) => {
    look(given[0]);
    return write.apply(response, given);
  }) as typeof write;
  response.end = ((...given: Parameters<typeof end>) => {
    look(given[0]);
    return end.apply(response, given);
  }) as typeof end;
  response.once('close', () => {
    const finished = response.writableFinished && !wasBrokenOff(response) && response.statusCode === 200;
    tell({ at: 'end', call, id: id ?? idOf(), finished, ...usageIn(before + last) });
  });
  tell({ at: 'begin', call });
}

const hasWord = (part: string): boolean =>
  /"(?:content|reasoning|reasoning_content|arguments|text)":"[^"]/.test(part);

function usageIn(text: string): Pick<Call, 'prompt_tokens' | 'completion_tokens'> {
  const usage = text.slice(text.lastIndexOf('"usage":{'));
  const figure = (name: string) => /:(\d+)/.exec(usage.slice(usage.indexOf(`"${name}"`)))?.[1];
  const completion_tokens = usage.startsWith('"usage":{') ? figure('completion_tokens') : undefined;
  if (completion_tokens === undefined) return {};
  return { prompt_tokens: Number(figure('prompt_tokens')), completion_tokens: Number(completion_tokens) };
}

process.on('disconnect', () => process.exit());
process.send?.({ url: simulator.url });
