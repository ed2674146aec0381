import type { ExtensionContext, ProviderStatus } from '../../src/plugin.ts';
import type { NoticeType } from './notice-types.ts';
import type { NoticesOptions } from './options.ts';
import type { StateNotices } from './state-notices.ts';
import { SteadyState } from './steady-state.ts';

/** What is seen of one thing. */
interface Sight {
  readonly subject: string;
  /** Types of the notices that it is out, and that it is no longer. */
  readonly types: readonly [NoticeType, NoticeType];
  readonly isOut: boolean;
  readonly steady_ms: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Watches what is in use or is out: providers, the ledger, the last reload of the configuration. */
export class StateWatch {
  readonly #context: Pick<ExtensionContext, 'clock' | 'server'>;
  readonly #notices: Pick<StateNotices, 'add'>;
  readonly #isStoreOut: () => boolean;
  readonly #states = new Map<string, SteadyState>();

  /** `isStoreOut` says whether the records store was found to be out of use. */
  constructor(
    context: Pick<ExtensionContext, 'clock' | 'server'>,
    notices: Pick<StateNotices, 'add'>,
    isStoreOut: () => boolean,
  ) {
    this.#context = context;
    this.#notices = notices;
    this.#isStoreOut = isStoreOut;
  }

  /** Looks at all of them. */
  async look(options: NoticesOptions): Promise<void> {
    const { server } = this.#context;
    const [{ providers }, registry] = await Promise.all([server.all(), server.registry()]);
    const sumOf = async (name: string): Promise<number | undefined> => {
      const { values = [] } = (await registry.getSingleMetric(name)?.get()) ?? {};
      return values.length === 0 ? undefined : values.reduce((sum, { value }) => sum + value, 0);
    };
    const [age_s = 0, rows = 0, isReloaded = 1] = await Promise.all([
      sumOf('sluice_ledger_oldest_row_age_seconds'),
      sumOf('sluice_ledger_queue_rows'),
      sumOf('sluice_config_last_reload_successful'),
    ]);
    const isStoreOut = this.#isStoreOut();
    const isOld = age_s * 1000 >= options.ledger_behind_ms;
    this.#seen([
      ...providers.map(provider => providerSight(provider, options.provider_out_ms)),
      {
        subject: 'ledger',
        types: ['ledger.behind', 'ledger.caught_up'],
        isOut: isOld || isStoreOut,
        // The age of a row says already how long it has been so.
        steady_ms: isOld ? 0 : options.ledger_behind_ms,
        data: {
          rows_waiting: rows,
          reason: isStoreOut ? 'the records store is unavailable' : `a row waits for ${Math.round(age_s)} s`,
        },
      },
      {
        subject: 'configuration',
        types: ['configuration.refused', 'configuration.accepted'],
        isOut: isReloaded === 0,
        steady_ms: 0,
        data: {},
      },
    ]);
  }

  #seen(sights: readonly Sight[]): void {
    const now_ms = this.#context.clock.epoch_ms();
    for (const {
      subject,
      types: [out, end],
      isOut,
      steady_ms,
      data,
    } of sights) {
      const state = this.#states.get(subject) ?? new SteadyState();
      this.#states.set(subject, state);
      const change = state.see(isOut, now_ms, steady_ms);
      if (!change) continue;
      const since = new Date(change.since_ms).toISOString();
      const { isFirst } = change;
      const told = isOut
        ? { type: out, data: { ...data, since } }
        : { type: end, data: { ...reasonless(data), since } };
      this.#notices.add({ subject, isEnd: !isOut, isFirst, created_ms: now_ms, ...told });
    }
    for (const subject of this.#states.keys())
      if (!sights.some(sight => sight.subject === subject)) this.#states.delete(subject);
  }
}

const reasonless = ({ provider }: Sight['data']): Sight['data'] =>
  provider === undefined ? {} : { provider };

function providerSight({ name, healthy, breaker }: ProviderStatus, steady_ms: number): Sight {
  const isOut = !healthy || breaker.state !== 'closed';
  return {
    subject: `provider:${name}`,
    types: ['provider.out', 'provider.back'],
    isOut,
    steady_ms,
    data: {
      provider: name,
      reason: healthy ? 'its circuit breaker is open' : 'its health check fails',
    },
  };
}
