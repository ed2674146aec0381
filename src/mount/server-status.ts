import type { Registry } from 'prom-client';
import type { ProcessStatus, ProviderStatus } from '../records/define-extension.ts';
import type { Channel } from './workers/channel.ts';
import type { Workers } from './workers/workers.ts';
import { MergedMetrics, WorkerMetrics } from './workers/workers-metrics.ts';

/** The other processes of a server, as a gateway in one of them knows them; neither in a server of one process. */
export interface OtherProcesses {
  /** Of a worker: the primary process. */
  readonly primary?: Channel;
  /** Of the primary: its workers. */
  readonly workers?: Workers;
}

/** The longest that a question waits for a worker; one that does not answer is told in the conditions. */
const answer_ms = 1000;

const statusOf = ({ name, healthy, breaker, bulkhead }: ProviderStatus): ProviderStatus => {
  const { state, retry_in_ms, share } = breaker;
  const { in_flight, queued, hasPermit } = bulkhead;
  return {
    name,
    healthy,
    breaker: { state, retry_in_ms, share },
    bulkhead: { in_flight, queued, hasPermit },
  };
};

/** What operators see of a server: of its one process, or of all of them together. */
export class ServerStatus {
  readonly #own: () => ProcessStatus;
  readonly #registry: Registry;
  readonly #workers: Workers | undefined;
  readonly #merged: MergedMetrics | undefined;
  readonly #told: WorkerMetrics | undefined;

  /** A worker tells its primary from now on. */
  constructor(own: () => ProcessStatus, registry: Registry, { primary, workers }: OtherProcesses) {
    this.#own = () => {
      const status = own();
      return { ...status, providers: status.providers.map(statusOf) };
    };
    this.#registry = registry;
    this.#workers = workers;
    this.#merged = workers && new MergedMetrics(registry, workers);
    this.#told = primary && new WorkerMetrics(registry, primary.handle('server.status', this.#own));
  }

  /** A registry with the metrics of all processes. Resolves in about a second at most. */
  async registry(): Promise<Registry> {
    return this.#merged ? this.#merged.registry() : this.#registry;
  }

  /** All processes as one, ready while one of the workers is. Resolves in about a second at most. */
  async all(): Promise<ProcessStatus> {
    const own = this.#own();
    if (!this.#workers) return own;
    const { numbers } = this.#workers;
    const answers = (await this.#workers.ask('server.status', answer_ms)).map(({ worker, value }) => ({
      worker,
      status: value as ProcessStatus,
    }));
    const heard = new Set(answers.map(({ worker }) => worker));
    const silent = numbers.filter(worker => !heard.has(worker));
    const all = [own, ...answers.map(({ status }) => status)];
    return {
      in_flight: all.reduce((sum, { in_flight }) => sum + in_flight, 0),
      ready: own.ready && answers.some(({ status }) => status.ready),
      conditions: [
        `${answers.filter(({ status }) => status.ready).length} of ${this.#workers.size} workers are ready`,
        ...own.conditions,
        ...answers.flatMap(({ worker, status }) =>
          status.conditions.map(line => `worker ${worker}: ${line}`),
        ),
        ...silent.map(worker => `worker ${worker} does not answer`),
      ],
      providers: own.providers.map(provider =>
        merged(all.flatMap(({ providers }) => providers.filter(({ name }) => name === provider.name))),
      ),
    };
  }

  /** Tells the primary what this worker has counted, at its end. */
  async close(): Promise<void> {
    await this.#told?.close();
  }
}

/** The worst of what processes see of one provider, and the sums of what they have there. */
function merged(seen: readonly ProviderStatus[]): ProviderStatus {
  const breakers = seen.map(({ breaker }) => breaker).toSorted((one, other) => badness(other) - badness(one));
  const sum = (of: 'in_flight' | 'queued') => seen.reduce((all, { bulkhead }) => all + bulkhead[of], 0);
  return {
    name: seen[0]!.name,
    healthy: seen.every(({ healthy }) => healthy),
    breaker: breakers[0]!,
    bulkhead: {
      in_flight: sum('in_flight'),
      queued: sum('queued'),
      hasPermit: seen.every(({ bulkhead }) => bulkhead.hasPermit),
    },
  };
}

const badness = ({ state, share }: ProviderStatus['breaker']): number =>
  state === 'open' ? 3 : state === 'half_open' ? 2 : 1 - share;
