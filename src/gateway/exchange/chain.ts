import { within } from '../../common/within.ts';
import type { HistogramSeries } from '../../telemetry/metric-series.ts';
import { type Metrics, type TimedHook, timedHooks } from '../../telemetry/metrics.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { withClientFieldName } from '../dialects/client-field-names.ts';
import type { RequestFormat } from '../dialects/define-dialect.ts';
import type { Completion } from './canonical.ts';
import { chunkFault } from './canonical-faults.ts';
import { GatewayError, refusal } from './errors.ts';
import type { Exchange } from './exchange.ts';
import type { Outcome } from './exchange-view.ts';
import {
  ChunkError,
  discardAnswer,
  HookResultError,
  isAnswer,
  isGatewayError,
  isNothing,
  isReply,
  isTransformer,
} from './hook-result.ts';
import { type StageFault, StageTimes } from './instrument.ts';
import type { Answer, Stage } from './stage.ts';
import { errorFacts, faultFacts } from './stage-fault.ts';
import { cancelTransformer, type StageTransformer } from './stage-link.ts';
import type { ChunkSource, StreamTransformer } from './stream.ts';
import { StreamPipeline } from './stream-pipeline.ts';

/** Time for a stage to release its resources. */
const close_limit_ms = 5000;
const default_hook_limit_ms = 120_000;

/** Stages in order for requests, reversed for replies. */
export class Chain {
  readonly stages: readonly Stage[];
  readonly metrics: Metrics | undefined;
  /** Series of the stages' times, by stage and hook, created on first use. */
  readonly stageSeries: (HistogramSeries | undefined)[] = [];
  /** Stages that an exchange has entered before the first hook runs. */
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

  /** Begins the run of `exchange` through these stages. Each hook that returns a promise has `hook_limit_ms`. */
  enter(exchange: Exchange, hook_limit_ms = default_hook_limit_ms): ChainRun {
    return new ChainRun(this, exchange, hook_limit_ms);
  }

  /** Closes the stages but those of `others`, all at once. Resolves after 5 s at most; one that fails or takes longer is a rejected result. */
  close(others: readonly Stage[] = []): Promise<PromiseSettledResult<void>[]> {
    const closeStage = async (stage: Stage) => {
      const late = () => new Error(`close did not settle within ${close_limit_ms / 1000} s`);
      try {
        await within(Promise.resolve(stage.close?.()), close_limit_ms, late);
      } catch (cause) {
        const why = cause instanceof Error ? cause.message : String(cause);
        throw new Error(`the stage ${stage.name} failed to close: ${why}`, { cause });
      }
    };
    return Promise.allSettled(this.stages.filter(stage => !others.includes(stage)).map(closeStage));
  }
}

/** The run of one exchange through a chain: which stages it has entered, and how long each took. */
export class ChainRun {
  readonly #chain: Chain;
  readonly #exchange: Exchange;
  readonly #times: StageTimes;
  readonly #hook_limit_ms: number;
  #entered: number;
  /** Stages that the reply passes: fewer than all if a stage has answered. */
  #replied: number;
  #settled = false;
  /** Fails the pending hook. */
  #giveUp: (() => void) | undefined;
  #isAbandoned = false;
  #catalog: Catalog | undefined;
  #format: Pick<RequestFormat, 'renamed'> | undefined;
  /** The model that the request has named so far. */
  #named: string | undefined;

  constructor(chain: Chain, exchange: Exchange, hook_limit_ms: number) {
    this.#chain = chain;
    this.#exchange = exchange;
    this.#hook_limit_ms = hook_limit_ms;
    this.#times = new StageTimes(chain.stages, exchange, chain.metrics, chain.stageSeries);
    this.#entered = chain.enteredAtStart;
    this.#replied = chain.stages.length;
  }

  /** Runs `onHeaders`, first to last, before the body is read. A promise only if a hook returns one. */
  onHeaders(from = 0): void | Promise<void> {
    const { stages } = this.#chain;
    for (let index = from; index < stages.length; index++) {
      this.#entered = Math.max(this.#entered, index + 1);
      if (!stages[index]!.onHeaders) continue;
      const pending = this.#times.run(index, 'onHeaders');
      if (pending instanceof Promise)
        return this.#settling(index, 'onHeaders', pending).then(settled => {
          this.#expect(isNothing, index, 'onHeaders', settled);
          return this.onHeaders(index + 1);
        });
      this.#expect(isNothing, index, 'onHeaders', pending);
    }
  }

  /**
   * Runs `onRequest`, first to last. A stage's answer ends the run: its reply passes the stages up to that one. Where a stage has named
   * another model, the exchange has that one of the catalog from the next stage on: for limits, price, upstreams and reply. `format` fits the
   * request to it.
   */
  onRequest(
    catalog?: Catalog,
    format?: Pick<RequestFormat, 'renamed'>,
  ): Answer | undefined | Promise<Answer | undefined> {
    this.#catalog = catalog;
    this.#format = format;
    this.#named = this.#exchange.request.model;
    return this.#requestFrom(0);
  }

  #requestFrom(from: number): Answer | undefined | Promise<Answer | undefined> {
    const { stages } = this.#chain;
    for (let index = from; index < stages.length; index++) {
      if (!stages[index]!.onRequest) continue;
      const result = this.#times.run(index, 'onRequest');
      if (result instanceof Promise)
        return this.#settling(index, 'onRequest', result).then(
          settled => this.#answerOf(index, settled) ?? this.#requestFrom(index + 1),
        );
      const answer = this.#answerOf(index, result);
      if (answer) return answer;
    }
    return undefined;
  }

  #answerOf(index: number, result: unknown): Answer | undefined {
    const { model } = this.#exchange.request;
    if (model !== this.#named) this.#rename(model);
    if (isNothing(result)) return undefined;
    this.#expect(isAnswer, index, 'onRequest', result);
    this.#replied = index + 1;
    return result as Answer;
  }

  #rename(model: string): void {
    this.#named = model;
    if (!this.#catalog) return;
    const found = this.#catalog.find(model);
    this.#exchange.model = found;
    this.#format?.renamed?.(this.#exchange.request, found);
  }

  /** Throws for a result that cannot be meant: without it, a stage that answers where none can would be passed over. */
  #expect(isMeant: (result: unknown) => boolean, index: number, hook: TimedHook, result: unknown): void {
    if (isMeant(result)) return;
    const mistake = new HookResultError(this.#chain.stages[index]!.name, hook, result);
    this.#times.failed(index, hook, mistake);
    throw mistake;
  }

  /** Throws for what an answering stage streams and is no chunk. */
  expectChunk(chunk: unknown): void {
    const fault = chunkFault(chunk);
    if (fault === undefined) return;
    const index = this.#replied - 1;
    const mistake = new ChunkError(this.#chain.stages[index]!.name, 'answered with', fault);
    this.#times.failed(index, 'onRequest', mistake);
    throw mistake;
  }

  /** Runs `onReply` over a whole reply, last to first. */
  onReply(reply: Completion, from = this.#replied - 1): Completion | Promise<Completion> {
    const { stages } = this.#chain;
    let current = reply;
    for (let index = from; index >= 0; index--) {
      if (!stages[index]!.onReply) continue;
      const shaped = this.#times.run(index, 'onReply', current);
      if (shaped instanceof Promise)
        return this.#settling(index, 'onReply', shaped).then(settled =>
          this.onReply(this.#replyOf(index, settled ?? current), index - 1),
        );
      current = this.#replyOf(index, shaped ?? current);
    }
    return current;
  }

  #replyOf(index: number, result: unknown): Completion {
    this.#expect(isReply, index, 'onReply', result);
    return result as Completion;
  }

  /** Fails the hook that has not settled, and every later one that does not settle at once. */
  abandon(): void {
    this.#isAbandoned = true;
    this.#giveUp?.();
  }

  /**
   * `pending`, or a `server_error` if the hook does not settle in time, or the run is abandoned before. The exchange's signal then aborts, to
   * stop the hook; an answer that it returns all the same is discarded.
   */
  #settling(index: number, hook: TimedHook, pending: Promise<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const start_ms = performance.now();
      this.#giveUp = () => {
        const waited = `${((performance.now() - start_ms) / 1000).toFixed(1)} s`;
        const stage = this.#chain.stages[index]!.name;
        const cause = new Error(`the stage ${stage} did not settle ${hook} within ${waited}`);
        const error = refusal('server_error', { cause });
        this.#times.failed(index, hook, error, start_ms);
        this.#logFault(index, hook, cause);
        reject(error);
        if (hook === 'onRequest') pending.then(discardAnswer, () => {});
        this.#exchange.abort('internal_error');
      };
      const timer = setTimeout(this.#giveUp, this.#hook_limit_ms);
      const over = () => {
        clearTimeout(timer);
        this.#giveUp = undefined;
      };
      pending.finally(over).then(resolve, reject);
      if (this.#isAbandoned) this.#giveUp();
    });
  }

  /** Pipes a stream through the transformers of the stages that want it, last to first, and times them. */
  onStream(source: ChunkSource): ChunkSource {
    const transformers: StageTransformer[] = [];
    try {
      this.#addTransformers(transformers);
    } catch (thrown) {
      for (const { index, transformer } of transformers) this.#cancel(index, transformer);
      throw thrown;
    }
    if (transformers.length === 0) return source;
    return { pushInto: sink => new StreamPipeline(source, transformers, this.#times, sink) };
  }

  #addTransformers(transformers: StageTransformer[]): void {
    const { stages } = this.#chain;
    for (let index = this.#replied - 1; index >= 0; index--) {
      if (!stages[index]!.onStream) continue;
      const result = this.#times.run(index, 'onStream');
      if (isNothing(result)) continue;
      if (result instanceof Promise)
        result.then(
          late => this.#cancel(index, late),
          () => {},
        );
      this.#expect(isTransformer, index, 'onStream', result);
      transformers.push({ index, transformer: result as StreamTransformer });
    }
  }

  /** Releases a transformer that gets no stream. */
  #cancel(index: number, transformer: unknown): void {
    if (isTransformer(transformer)) cancelTransformer(transformer, index, this.#times);
  }

  /** The error that the client will see, after `onError` of the stages that were entered, last to first. */
  onError(thrown: unknown): GatewayError {
    let error = GatewayError.from(thrown);
    if (this.#exchange.hasRequest) error = withClientFieldName(error, this.#exchange.request);
    for (let index = this.#entered - 1; index >= 0; index--) {
      const { name: stageName, onError } = this.#chain.stages[index]!;
      if (!onError) continue;
      try {
        const shown = this.#times.run(index, 'onError', error) ?? error;
        if (shown instanceof Promise) shown.catch(() => {});
        if (isGatewayError(shown)) error = shown;
        else {
          const mistake = new HookResultError(stageName, 'onError', shown);
          this.#times.failed(index, 'onError', mistake);
          this.#logFault(index, 'onError', mistake, error);
        }
      } catch (fault) {
        this.#logFault(index, 'onError', fault, error);
        error = GatewayError.from(fault);
      }
    }
    return error;
  }

  /** The stage and hook that threw `cause`, if one did. */
  originOf(cause: unknown): Pick<StageFault, 'stage' | 'hook'> | undefined {
    const { fault } = this.#times;
    return fault && fault.thrown === cause ? { stage: fault.stage, hook: fault.hook } : undefined;
  }

  /** Calls `onSettled` of every stage that was entered, once even if called again. */
  onSettled(outcome: Outcome): void {
    if (this.#settled) return;
    this.#settled = true;
    for (let index = this.#entered - 1; index >= 0; index--) {
      if (!this.#chain.stages[index]!.onSettled) continue;
      try {
        const pending = this.#times.run(index, 'onSettled', outcome);
        // Not waited for; a rejection without a handler would end the process.
        if (pending instanceof Promise) pending.catch(fault => this.#logFault(index, 'onSettled', fault));
      } catch (fault) {
        this.#logFault(index, 'onSettled', fault);
      }
    }
    this.#times.report();
  }

  /** Logs an error thrown by a stage's hook, and the error that the hook was handling. */
  #logFault(index: number, hook: string, thrown: unknown, handled?: GatewayError): void {
    const { name: stage } = this.#chain.stages[index]!;
    const error = handled && errorFacts(this.#exchange, handled);
    const fields = { err: faultFacts(this.#exchange, thrown, handled), stage, hook };
    this.#exchange.log.error({ ...fields, ...(error && { error }) }, `a stage threw in ${hook}`);
  }
}
