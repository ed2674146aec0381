import type { Chunk, Completion } from '../canonical.ts';
import { withClientFieldName } from '../dialects/client-field-names.ts';
import { GatewayError } from '../errors.ts';
import type { Exchange, Outcome } from '../exchange.ts';
import type { Stage } from '../stage.ts';
import type { HistogramSeries } from '../telemetry/metric-series.ts';
import { type Metrics, timedHooks } from '../telemetry/metrics.ts';
import { StageTimes } from './instrument.ts';
import { TimedStream } from './timed-stream.ts';

/** Stages in order: read down on the way in, up on the way out. */
export class Chain {
  readonly stages: readonly Stage[];
  readonly metrics: Metrics | undefined;
  /** The series of the stages' times, by stage and hook, once they have been asked for. */
  readonly stageSeries: (HistogramSeries | undefined)[] = [];
  /** How many stages an exchange has entered before the first hook has run. */
  readonly enteredAtStart: number;

  constructor(stages: readonly Stage[], metrics?: Metrics) {
    this.stages = stages;
    this.metrics = metrics;
    const first = stages.findIndex(stage => stage.onHeaders);
    this.enteredAtStart = first === -1 ? stages.length : first;
    for (const stage of stages)
      metrics?.prepareStage(
        stage.name,
        timedHooks.filter(hook => stage[hook]),
      );
  }

  /** Begins the way of `exchange` through these stages. */
  enter(exchange: Exchange): ChainRun {
    return new ChainRun(this, exchange);
  }
}

/** One exchange on its way through a chain: which stages it has entered, and how long each took. */
export class ChainRun {
  readonly #chain: Chain;
  readonly #exchange: Exchange;
  readonly #times: StageTimes;
  #entered: number;
  #settled = false;

  constructor(chain: Chain, exchange: Exchange) {
    this.#chain = chain;
    this.#exchange = exchange;
    this.#times = new StageTimes(chain.stages, exchange, chain.metrics, chain.stageSeries);
    this.#entered = chain.enteredAtStart;
  }

  /** First to last, before the body is read. */
  async onHeaders(): Promise<void> {
    const { stages } = this.#chain;
    for (let index = 0; index < stages.length; index++) {
      this.#entered = Math.max(this.#entered, index + 1);
      const stage = stages[index]!;
      if (!stage.onHeaders) continue;
      const pending = this.#times.run(index, 'onHeaders');
      if (pending) await pending;
    }
  }

  /** First to last, the canonical request is there. */
  async onRequest(): Promise<void> {
    const { stages } = this.#chain;
    for (let index = 0; index < stages.length; index++) {
      if (!stages[index]!.onRequest) continue;
      const pending = this.#times.run(index, 'onRequest');
      if (pending) await pending;
    }
  }

  /** Last to first over a whole reply. */
  async onReply(reply: Completion): Promise<Completion> {
    const { stages } = this.#chain;
    let current = reply;
    for (let index = stages.length - 1; index >= 0; index--) {
      if (!stages[index]!.onReply) continue;
      const shaped = this.#times.reply(index, current);
      current = shaped instanceof Promise ? await shaped : shaped;
    }
    return current;
  }

  /** Last to first over a stream: each stage reads from the one below it. */
  onStream(chunks: AsyncIterable<Chunk>): AsyncIterable<Chunk> {
    const { stages } = this.#chain;
    const stream = new TimedStream(this.#times, chunks);
    for (let index = stages.length - 1; index >= 0; index--) {
      const stage = stages[index]!;
      if (stage.onStream) stream.through(index, input => stage.onStream?.(this.#exchange, input) ?? input);
    }
    return stream.chunks;
  }

  /** What the client will see of `error`, in its own words, after the stages that were entered, last to first. */
  onError(thrown: unknown): GatewayError {
    let error = GatewayError.from(thrown);
    if (this.#exchange.hasRequest) error = withClientFieldName(error, this.#exchange.request);
    for (let index = this.#entered - 1; index >= 0; index--) {
      try {
        error = this.#chain.stages[index]?.onError?.(this.#exchange, error) ?? error;
      } catch (fault) {
        error = GatewayError.from(fault);
      }
    }
    return error;
  }

  /** Tells every stage that was entered, once however often it is called. */
  onSettled(outcome: Outcome): void {
    if (this.#settled) return;
    this.#settled = true;
    for (let index = this.#entered - 1; index >= 0; index--) {
      const stage = this.#chain.stages[index]!;
      try {
        stage.onSettled?.(this.#exchange, outcome);
      } catch (fault) {
        this.#exchange.log.error({ err: fault, stage: stage.name }, 'a stage threw in onSettled');
      }
    }
    this.#times.report();
  }
}
