import { within } from '../../common/within.ts';
import { type Metrics, timedHooks } from '../../telemetry/metrics.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { withClientFieldName } from '../dialects/client-field-names.ts';
import type { RequestFormat } from '../dialects/define-dialect.ts';
import type { Completion, Operation } from './canonical.ts';
import { chunkFault } from './canonical-faults.ts';
import { GatewayError, invalidField, refusal } from './errors.ts';
import type { Exchange } from './exchange.ts';
import type { Outcome } from './exchange-view.ts';
import {
  ChunkError,
  discardAnswer,
  HookResultError,
  isAnswer,
  isReply,
  isTransformer,
} from './hook-result.ts';
import { noTimes, type StageFault, StageTimes } from './instrument.ts';
import { errorFacts, faultFacts } from './log-error.ts';
import type { Answer, Stage } from './stage.ts';
import { cancelTransformer, type StageTransformer } from './stage-link.ts';
import { type HookStep, type StageSteps, stepsOf } from './stage-steps.ts';
import type { ChunkMeter, ChunkSource } from './stream.ts';
import { StreamPipeline } from './stream-pipeline.ts';

/** Time for a stage to release its resources. */
const close_limit_ms = 5000;
const default_hook_limit_ms = 120_000;

/** Stages in order for requests, reversed for replies. Their hooks are compiled once, into one list for each phase. */
export class Chain {
  readonly stages: readonly Stage[];
  readonly metrics: Metrics | undefined;
  readonly steps: StageSteps;
  /** The steps of all phases, by their place. */
  readonly allSteps: readonly HookStep[];
  readonly noTimes: readonly number[];
  /** Stages that an exchange has entered before the first hook runs. */
  readonly enteredAtStart: number;

  constructor(stages: readonly Stage[], metrics?: Metrics) {
    this.stages = stages;
    this.metrics = metrics;
    for (const stage of stages)
      metrics?.prepareStage(
        stage.name,
        timedHooks.filter(hook => stage[hook]),
      );
    this.steps = stepsOf(stages, metrics);
    this.allSteps = timedHooks.flatMap(hook => this.steps[hook]);
    this.noTimes = noTimes(this.allSteps.length);
    this.enteredAtStart = this.steps.onHeaders[0]?.index ?? stages.length;
  }

  /** Names what the exchange asks for instead of a chat. Refuses token ids in place of texts if a stage has to read those. */
  enterOperation(exchange: Exchange, { name }: Operation): void {
    exchange.operation = name;
    if (!exchange.request.messages.some(({ tokens }) => tokens)) return;
    const reader = this.stages.find(one => one.onRequest && one.mustRead !== false && !one.takesTokens);
    if (reader) throw invalidField('messages', `must be text: the stage ${reader.name} cannot read tokens.`);
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
  readonly #steps: StageSteps;
  readonly #exchange: Exchange;
  readonly #times: StageTimes;
  readonly #hook_limit_ms: number;
  readonly #length: number;
  #entered: number;
  /** Stages that the reply passes: fewer than all if a stage has answered. */
  #replied: number;
  /** The step that has answered. */
  #answering: HookStep | undefined;
  #settled = false;
  /** Fails the pending hook. */
  #giveUp: (() => void) | undefined;
  #isAbandoned = false;
  #catalog: Catalog | undefined;
  #format: Pick<RequestFormat, 'renamed'> | undefined;
  /** The model that the request has named so far. */
  #named: string | undefined;

  constructor(chain: Chain, exchange: Exchange, hook_limit_ms: number) {
    this.#steps = chain.steps;
    this.#exchange = exchange;
    this.#hook_limit_ms = hook_limit_ms;
    this.#times = new StageTimes(chain.allSteps, chain.noTimes, exchange, chain.metrics);
    this.#length = chain.stages.length;
    this.#entered = chain.enteredAtStart;
    this.#replied = this.#length;
  }

  /** Runs `onHeaders`, first to last, before the body is read. A promise only if a hook returns one. */
  onHeaders(from = 0): void | Promise<void> {
    this.#times.begin();
    const { onHeaders: steps } = this.#steps;
    for (let at = from; at < steps.length; at++) {
      const step = steps[at]!;
      this.#entered = step.index + 1;
      const result = this.#times.run(step);
      if (result instanceof Promise)
        return this.#settling(step, result).then(settled => {
          if (settled != null) throw this.#mistake(step, settled);
          return this.onHeaders(at + 1);
        });
      if (result != null) throw this.#mistake(step, result);
    }
    this.#entered = this.#length;
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
    this.#times.begin();
    const { onRequest: steps } = this.#steps;
    for (let at = from; at < steps.length; at++) {
      const step = steps[at]!;
      const result = this.#times.run(step);
      if (result instanceof Promise)
        return this.#settling(step, result).then(
          settled => this.#answerOf(step, settled) ?? this.#requestFrom(at + 1),
        );
      if (result == null && this.#exchange.request.model === this.#named) continue;
      const answer = this.#answerOf(step, result);
      if (answer) return answer;
    }
    return undefined;
  }

  #answerOf(step: HookStep, result: unknown): Answer | undefined {
    const { model } = this.#exchange.request;
    if (model !== this.#named) this.#rename(model);
    if (result == null) return undefined;
    if (!isAnswer(result)) throw this.#mistake(step, result);
    this.#answering = step;
    this.#replied = step.index + 1;
    return result;
  }

  #rename(model: string): void {
    this.#named = model;
    if (!this.#catalog) return;
    const found = this.#catalog.find(model);
    this.#exchange.model = found;
    this.#format?.renamed?.(this.#exchange.request, found);
  }

  /** The error for a result that cannot be meant: without it, a stage that answers where none can would be passed over. */
  #mistake(step: HookStep, result: unknown): HookResultError {
    const mistake = new HookResultError(step.stage, step.hook, result);
    this.#times.failed(step, mistake);
    return mistake;
  }

  /** Throws for what an answering stage streams and is no chunk. */
  expectChunk(chunk: unknown): void {
    const fault = chunkFault(chunk);
    if (fault === undefined) return;
    const step = this.#answering!;
    const mistake = new ChunkError(step.stage, 'answered with', fault);
    this.#times.failed(step, mistake);
    throw mistake;
  }

  /** Runs `onReply` over a whole reply, last to first. */
  onReply(reply: Completion, from = 0): Completion | Promise<Completion> {
    this.#times.begin();
    const { onReply: steps } = this.#steps;
    let current = reply;
    for (let at = from; at < steps.length; at++) {
      const step = steps[at]!;
      if (step.index >= this.#replied) continue;
      const result = this.#times.run(step, current);
      if (result instanceof Promise)
        return this.#settling(step, result).then(settled =>
          this.onReply(this.#replyOf(step, settled, current), at + 1),
        );
      current = this.#replyOf(step, result, current);
    }
    return current;
  }

  /** The reply that a hook has made of `given`, which itself was checked before. */
  #replyOf(step: HookStep, result: unknown, given: Completion): Completion {
    if (result === given || result == null) return given;
    if (!isReply(result, given)) throw this.#mistake(step, result);
    return result;
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
  #settling(step: HookStep, pending: Promise<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const start_ms = performance.now();
      this.#giveUp = () => {
        const waited = `${((performance.now() - start_ms) / 1000).toFixed(1)} s`;
        const cause = new Error(`the stage ${step.stage} did not settle ${step.hook} within ${waited}`);
        const error = refusal('server_error', { cause });
        this.#times.failed(step, error, start_ms);
        this.#logFault(step, cause);
        reject(error);
        if (step.hook === 'onRequest') pending.then(discardAnswer, () => {});
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

  /** Pipes a stream through `meter` and the transformers of the stages that want it, last to first, and times them. */
  onStream(source: ChunkSource, meter?: ChunkMeter): ChunkSource {
    const transformers: StageTransformer[] = [];
    try {
      this.#addTransformers(transformers);
    } catch (thrown) {
      for (const { step, transformer } of transformers) cancelTransformer(transformer, step, this.#times);
      throw thrown;
    }
    return { pushInto: sink => new StreamPipeline(source, meter, transformers, this.#times, sink) };
  }

  #addTransformers(transformers: StageTransformer[]): void {
    this.#times.begin();
    for (const step of this.#steps.onStream) {
      if (step.index >= this.#replied) continue;
      const result = this.#times.run(step);
      if (result == null) continue;
      if (result instanceof Promise) this.#cancelLate(step, result);
      if (!isTransformer(result)) throw this.#mistake(step, result);
      transformers.push({ step, transformer: result });
    }
  }

  /** Releases a transformer that comes too late to get a stream. */
  #cancelLate(step: HookStep, late: Promise<unknown>): void {
    const cancel = (transformer: unknown) => {
      if (isTransformer(transformer)) cancelTransformer(transformer, step, this.#times);
    };
    late.then(cancel, () => {});
  }

  /** The error that the client will see, after `onError` of the stages that were entered, last to first. */
  onError(thrown: unknown): GatewayError {
    let error = GatewayError.from(thrown);
    if (this.#exchange.hasRequest) error = withClientFieldName(error, this.#exchange.request);
    this.#times.begin();
    for (const step of this.#steps.onError) {
      if (step.index >= this.#entered) continue;
      try {
        const shown = this.#times.run(step, error) ?? error;
        if (shown instanceof Promise) shown.catch(() => {});
        if (GatewayError.is(shown)) error = shown;
        else this.#logFault(step, this.#mistake(step, shown), error);
      } catch (fault) {
        this.#logFault(step, fault, error);
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
    this.#times.begin();
    const { onSettled: steps } = this.#steps;
    for (let at = 0; at < steps.length; at++) {
      const step = steps[at]!;
      if (step.index >= this.#entered) continue;
      try {
        const pending = this.#times.run(step, outcome);
        // Not waited for; a rejection without a handler would end the process.
        if (pending instanceof Promise) pending.catch(fault => this.#logFault(step, fault));
      } catch (fault) {
        this.#logFault(step, fault);
      }
    }
    this.#times.report();
  }

  /** Logs an error thrown by a stage's hook, and the error that the hook was handling. */
  #logFault({ stage, hook }: HookStep, thrown: unknown, handled?: GatewayError): void {
    const error = handled && errorFacts(this.#exchange, handled);
    const fields = { err: faultFacts(this.#exchange, thrown, handled), stage, hook };
    this.#exchange.log.error({ ...fields, ...(error && { error }) }, `a stage threw in ${hook}`);
  }
}
