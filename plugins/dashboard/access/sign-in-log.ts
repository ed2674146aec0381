import type { IncomingMessage } from 'node:http';
import { type ExtensionContext, isOutage } from '../../../src/plugin.ts';
import { customerName } from './roles.ts';

/** A sign-in that was refused. */
export interface Refusal {
  readonly name: string;
  readonly address: string;
  readonly outcome: string;
  /** Time until the next attempt may be made. */
  readonly wait_ms?: number;
}

interface SignInLogSetup {
  readonly context: ExtensionContext;
  readonly area: 'dashboard' | 'portal';
  readonly addressOf: (request: IncomingMessage) => string;
}

type SignInEntry = [
  action: 'sign-in.accept' | 'sign-in.refuse' | 'sign-in.end',
  who: { actor: string; address: string; at_ms: number },
  detail?: object,
];

/** Refusals that are recorded in the audit log, in each minute; all are in the log. */
const max_recorded_refusals = 30;

/** Writes sign-ins, refused ones and sign-outs to the log and to the audit log. */
export class SignInLog {
  readonly #setup: SignInLogSetup;
  #refusals = { minute: 0, count: 0 };

  constructor(setup: SignInLogSetup) {
    this.#setup = setup;
  }

  refused({ name, ...refusal }: Refusal): void {
    const { log, clock } = this.#setup.context;
    log.warn({ ...this.#named(name), ...refusal }, 'sign-in refused');
    const at_ms = clock.epoch_ms();
    const minute = Math.floor(at_ms / 60_000);
    if (this.#refusals.minute !== minute) this.#refusals = { minute, count: 0 };
    if (++this.#refusals.count > max_recorded_refusals) return;
    const { address, outcome } = refusal;
    void this.#write('sign-in.refuse', this.#who(name, address), { outcome });
  }

  async accepted(incoming: IncomingMessage, actor: string): Promise<void> {
    const address = this.#setup.addressOf(incoming);
    this.#setup.context.log.info({ ...this.#named(actor), address }, 'signed in');
    await this.#write('sign-in.accept', this.#who(actor, address));
  }

  async ended(incoming: IncomingMessage, actor: string): Promise<void> {
    const address = this.#setup.addressOf(incoming);
    this.#setup.context.log.info({ ...this.#named(actor), address }, 'signed out');
    await this.#write('sign-in.end', this.#who(actor, address));
  }

  #who(actor: string, address: string) {
    const { area, context } = this.#setup;
    const at_ms = context.clock.epoch_ms();
    return { actor: area === 'portal' ? customerName(actor) : actor, address, at_ms };
  }

  #named(name: string): object {
    return this.#setup.area === 'portal' ? { customer: name } : { operator: name };
  }

  /** Never rejects: nobody is kept out because the log cannot be written. */
  async #write(...[action, who, detail]: SignInEntry): Promise<void> {
    const { records, log } = this.#setup.context;
    await records.store.audit.record(who, action, this.#setup.area, detail).catch(thrown => {
      const message = 'failed to record a sign-in in the audit log';
      log[isOutage(thrown) ? 'warn' : 'error']({ err: thrown }, message);
    });
  }
}
