import type { Profiler, Runtime } from 'node:inspector';
import type { PrintingProcess } from '../../support/printing-process.ts';

/** Calls of the gateway's own functions, and in how many files they stand. */
export interface Calls {
  readonly calls: number;
  readonly files: number;
}

type Send = <Result>(method: string, params?: object) => Promise<Result>;

/** What ran once and is no part of a unit of work is left out: a function counts if it ran for every second unit. */
const least_per_unit = 0.5;

/** Options of Node for a process that is to be inspected. Nothing may be collected between two readings of the heap. */
export const inspectedFlags = [
  '--inspect=127.0.0.1:0',
  '--min-semi-space-size=512',
  '--max-semi-space-size=512',
] as const;

/**
 * Counts what a process allocates, creates and calls while something runs, through Node's inspector. In this order: counting resources and
 * calls slows the process down, and allocates.
 */
export class InspectedProcess {
  readonly #send: Send;

  private constructor(send: Send) {
    this.#send = send;
  }

  /** Attaches to a process that was started with `inspectedFlags`. */
  static async attach(started: PrintingProcess): Promise<InspectedProcess> {
    const [, url = ''] = await started.printed(/Debugger listening on (ws:\S+)/);
    const socket = new WebSocket(url);
    await new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = () => reject(new Error(`no inspector at ${url}`));
    });
    return new InspectedProcess(commandsOf(socket));
  }

  /** Bytes of heap that were allocated while `run` ran; NaN if something was collected meanwhile. */
  async heapBytes(run: () => Promise<unknown>): Promise<number> {
    await this.#send('HeapProfiler.collectGarbage');
    const used = () => this.#evaluate<number>('process.memoryUsage().heapUsed');
    const before = await used();
    await run();
    const bytes = (await used()) - before;
    return bytes > 0 ? bytes : Number.NaN;
  }

  /** Promises, timers and other asynchronous resources that were created, by their types. */
  async created(run: () => Promise<unknown>): Promise<Readonly<Record<string, number>>> {
    await this.#evaluate(`{
      globalThis.created = {};
      globalThis.creation = process.getBuiltinModule('node:async_hooks').createHook({
        init: (_, type) => { globalThis.created[type] = (globalThis.created[type] ?? 0) + 1; },
      }).enable();
      0 }`);
    await run();
    return this.#evaluate('globalThis.creation.disable(), globalThis.created');
  }

  /** Calls for each of `units` units of work; packages and Node's own code are left out. */
  async calls(units: number, run: () => Promise<unknown>): Promise<Calls> {
    await this.#send('Profiler.enable');
    await this.#send('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await this.#send('Profiler.takePreciseCoverage');
    await run();
    const taken = await this.#send<Profiler.TakePreciseCoverageReturnType>('Profiler.takePreciseCoverage');
    await this.#send('Profiler.stopPreciseCoverage');
    let calls = 0;
    const files = new Set<string>();
    for (const { url, functions } of taken.result) {
      if (!url.startsWith('file:') || url.includes('/node_modules/')) continue;
      for (const { functionName, ranges } of functions) {
        const { count, startOffset } = ranges[0]!;
        const isModule = functionName === '' && startOffset === 0;
        if (isModule || count / units < least_per_unit) continue;
        calls += count / units;
        files.add(url);
      }
    }
    return { calls, files: files.size };
  }

  async #evaluate<Value>(expression: string): Promise<Value> {
    const asked = { expression, returnByValue: true };
    const { result, exceptionDetails } = await this.#send<Runtime.EvaluateReturnType>(
      'Runtime.evaluate',
      asked,
    );
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? expression);
    return result.value;
  }
}

/** Sends commands of the inspector's protocol; each resolves with its result. */
function commandsOf(socket: WebSocket): Send {
  const waiting = new Map<number, PromiseWithResolvers<never>>();
  let last = 0;
  socket.onmessage = ({ data }) => {
    const { id, result, error } = JSON.parse(String(data));
    const asked = waiting.get(id);
    waiting.delete(id);
    if (error) asked?.reject(new Error(error.message));
    else asked?.resolve(result);
  };
  socket.onclose = () => {
    for (const { reject } of waiting.values()) reject(new Error('the inspected process ended'));
  };
  return (method, params = {}) => {
    const asked = Promise.withResolvers<never>();
    waiting.set(++last, asked);
    socket.send(JSON.stringify({ id: last, method, params }));
    return asked.promise;
  };
}
