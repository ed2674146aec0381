import type { Clock } from '../../src/plugin.ts';
import { DeliveryFailed, type Notice } from './delivery.ts';
import type { NoticesOptions } from './options.ts';
import { Webhooks } from './webhook.ts';

export interface TargetsSetup {
  readonly clock: Clock;
  readonly options: () => NoticesOptions;
}

const isTold = ({ events }: { readonly events?: readonly string[] | undefined }, type: string): boolean =>
  // A test is for everybody.
  type === 'test' || events === undefined || events.includes(type);

/** The receivers of notices: `webhook:NAME` and `mail:ADDRESS`. */
export class Targets {
  readonly #setup: TargetsSetup;
  readonly #webhooks = new Webhooks();

  constructor(setup: TargetsSetup) {
    this.#setup = setup;
  }

  /** The longest that an attempt takes. */
  get timeout_ms(): number {
    const { webhooks, mail } = this.#setup.options();
    return Math.max(...Object.values(webhooks).map(({ timeout_ms }) => timeout_ms), mail?.timeout_ms ?? 0);
  }

  /** Who gets a notice. */
  async of({ type }: Notice): Promise<string[]> {
    const { webhooks } = this.#setup.options();
    return Object.entries(webhooks).flatMap(([name, webhook]) =>
      isTold(webhook, type) ? [`webhook:${name}`] : [],
    );
  }

  /** Throws DeliveryFailed if the receiver has not taken it. */
  async send(target: string, notice: Notice, signal: AbortSignal): Promise<void> {
    const { webhooks } = this.#setup.options();
    const [kind, name = ''] = target.split(/:(.*)/s);
    const webhook = Object.hasOwn(webhooks, name) ? webhooks[name] : undefined;
    if (kind !== 'webhook' || !webhook)
      throw new DeliveryFailed('the configuration does not name it any longer', true);
    await this.#webhooks.post(webhook, notice, this.#setup.clock.epoch_ms(), signal);
  }

  /** Ends connections. */
  close(): Promise<void> {
    return this.#webhooks.close();
  }
}
