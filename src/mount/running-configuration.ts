import type { ExchangeRun, RunnerParts } from '../gateway/exchange/runner.ts';
import { UsedLabels } from '../telemetry/used-labels.ts';
import { type Parts, putInService } from './assemble.ts';
import { InFlightSet } from './in-flight-set.ts';

/** A configuration that serves, or whose exchanges have not all ended. */
export interface RunningConfiguration {
  readonly parts: Parts;
  readonly runnerParts: RunnerParts;
  /** Exchanges that have begun under it, and are not settled. */
  readonly exchanges: InFlightSet;
  readonly labels: UsedLabels;
}

/**
 * The configurations of a gateway: the current one, under which exchanges begin, and former ones, each until its last exchange is settled.
 * What a configuration has alone is closed then.
 */
export class RunningConfigurations {
  #current: RunningConfiguration;
  readonly #running = new Set<RunningConfiguration>();
  readonly #closing = new Set<Promise<unknown>>();

  constructor(parts: Parts) {
    this.#current = this.#begin(parts);
  }

  get current(): RunningConfiguration {
    return this.#current;
  }

  /** Number of exchanges that have begun and are not settled, under all of them. */
  get inFlight(): number {
    let sum = 0;
    for (const { exchanges } of this.#running) sum += exchanges.size;
    return sum;
  }

  /** The runs of these exchanges; a copy. */
  runs(): ExchangeRun[] {
    return [...this.#running].flatMap(({ exchanges }) => exchanges.runs());
  }

  /** Lets all of them follow the controls of operators as they are now. */
  control(): void {
    for (const { parts } of this.#running) parts.router.control(parts.records.controls.current);
  }

  /** Lets exchanges begin under `parts` from now on. */
  replace(parts: Parts): void {
    const before = this.#current;
    putInService(parts, before.parts);
    this.#current = this.#begin(parts);
    this.#endIfOver(before);
  }

  /** Waits for all exchanges, and closes everything that belongs to a configuration. Rejects if a part could not be closed. */
  async close(): Promise<void> {
    while (this.inFlight > 0) await Promise.all([...this.#running].map(({ exchanges }) => exchanges.ended()));
    await Promise.all(this.#closing);
    const current = this.#current;
    this.#running.delete(current);
    current.labels.release();
    await this.#close(current);
  }

  #begin(parts: Parts): RunningConfiguration {
    const { metrics, settings, providers } = parts;
    const running: RunningConfiguration = {
      parts,
      runnerParts: { ...parts, limits: settings.server },
      exchanges: new InFlightSet(() => this.#endIfOver(running)),
      labels: new UsedLabels(metrics.registry, [
        ...providers.flatMap(({ name }) => ofProvider.map(label => [label, name] as const)),
        ...settings.models.map(({ id }) => ['gen_ai_request_model', id] as const),
      ]),
    };
    this.#running.add(running);
    return running;
  }

  /** Closes a former configuration whose last exchange has ended. */
  #endIfOver(running: RunningConfiguration): void {
    if (running === this.#current || running.exchanges.size > 0 || !this.#running.delete(running)) return;
    const { metrics, log } = running.parts;
    metrics.forget(running.labels.forget());
    const failed = (err: unknown) => log.error({ err }, 'failed to close a part of the former configuration');
    const closing = this.#close(running)
      .catch(failed)
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  /** Closes what `running` has and no other configuration uses. */
  async #close({ parts: { passthrough, chain, providers, caches } }: RunningConfiguration): Promise<void> {
    const others = [...this.#running].map(({ parts }) => parts);
    const stagesOfOthers = others.flatMap(parts => parts.chain.stages);
    passthrough.close();
    for (const { name } of chain.stages)
      if (!stagesOfOthers.some(other => other.name === name)) caches.delete(name);
    // Before the providers, which stages may still use.
    const stages = await chain.close(stagesOfOthers);
    const own = providers.filter(provider => !others.some(parts => parts.providers.includes(provider)));
    const ends = await Promise.allSettled(own.map(provider => provider.close()));
    for (const end of [...stages, ...ends]) if (end.status === 'rejected') throw end.reason;
  }
}

/** Labels whose values are names of providers. */
const ofProvider = ['sluice_provider', 'from', 'to'] as const;
