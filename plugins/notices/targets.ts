import type { Clock } from '../../src/plugin.ts';
import { DeliveryFailed, type Notice } from './delivery.ts';
import { sendMail } from './mail.ts';
import type { NoticesOptions } from './options.ts';
import { Webhooks } from './webhook.ts';

export interface TargetsSetup {
  readonly clock: Clock;
  readonly options: () => NoticesOptions;
  /** Mail addresses of the people of an account. */
  readonly contactsOf: (account: string) => Promise<readonly string[]>;
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

  /** Who gets a notice: customers only what is said of a limit of their account. */
  async of({ type, data }: Notice): Promise<string[]> {
    const { webhooks, mail } = this.#setup.options();
    // An operator asks for it, and for nobody else.
    if (type === 'limit.used') return mail ? await this.#contactsOf(data) : [];
    const named = Object.entries(webhooks).filter(([, webhook]) => isTold(webhook, type));
    const addresses = mail && isTold(mail, type) ? mail.to.map(address => `mail:${address}`) : [];
    if (mail?.customers && type === 'limit.threshold_reached')
      addresses.push(...(await this.#contactsOf(data)));
    return [...named.map(([name]) => `webhook:${name}`), ...addresses];
  }

  async #contactsOf({ account }: Notice['data']): Promise<string[]> {
    const contacts = typeof account === 'string' ? await this.#setup.contactsOf(account) : [];
    return contacts.map(address => `mail:${address}`);
  }

  /** Throws DeliveryFailed if the receiver has not taken it. */
  async send(target: string, notice: Notice, signal: AbortSignal): Promise<void> {
    const { webhooks, mail, templates } = this.#setup.options();
    const [kind, name = ''] = target.split(/:(.*)/s);
    if (kind === 'mail' && mail) return sendMail(name, { mail, templates }, notice, signal);
    const webhook = Object.hasOwn(webhooks, name) ? webhooks[name] : undefined;
    if (kind !== 'webhook' || !webhook)
      throw new DeliveryFailed('the configuration no longer names it', true);
    await this.#webhooks.post(webhook, notice, this.#setup.clock.epoch_ms(), signal);
  }

  /** Ends connections. */
  close(): Promise<void> {
    return this.#webhooks.close();
  }
}
