import {
  type CustomerLogin,
  type ExtensionContext,
  hashKey,
  hashPassword,
  LoginThrottle,
} from '../../../src/plugin.ts';
import type { Door, Entrance } from '../access/entrance.ts';
import { customerName } from '../access/roles.ts';
import type { DashboardRequest } from '../page-request.ts';
import { htmlResponse, PageError, type PageResponse, redirect } from '../page-response.ts';
import { aloneDocument, brandOf, tokenInput } from '../view/document.ts';
import { html } from '../view/html.ts';
import { inTurn, newPassword, newPasswordFields } from './password.ts';

/** Takes an invitation: its customer chooses a password and is signed in. Whether an invitation was used, has ended or never was is not told. */
export class InvitationEntrance implements Entrance {
  readonly name = 'invitation';
  readonly #context: ExtensionContext;
  readonly #throttle: LoginThrottle;

  constructor(context: ExtensionContext) {
    this.#context = context;
    this.#throttle = new LoginThrottle(context.clock);
  }

  async answer(request: DashboardRequest, door: Door): Promise<PageResponse> {
    const { method } = request.incoming;
    if (method !== 'POST') return this.#form(request, door, request.query.get('token') ?? '');
    const form = await door.readForm(request);
    const token = form.get('token') ?? '';
    const { name } = await this.#invited(request, door, token);
    const wanted = newPassword(form);
    if ('fault' in wanted) return this.#form(request, door, token, wanted.fault);
    const hash = await inTurn(() => hashPassword(wanted.password));
    const from = { at_ms: this.#context.clock.epoch_ms(), address: door.addressOf(request) };
    const { customers } = this.#context.records.store;
    const login = await customers.accept(hashKey(token), hash, from, customerName);
    if (!login) throw ended();
    const { account } = login;
    await door.signIn(request, { person: { actor: name, role: 'customer', account }, credential: hash });
    return redirect('.');
  }

  async #form(request: DashboardRequest, door: Door, token: string, fault?: string): Promise<PageResponse> {
    const { name, account } = await this.#invited(request, door, token);
    const body = html`<p class="brand">${brandOf()}</p>
<h1>Choose a password</h1>
<p>You are invited to see and manage the account <strong>${account}</strong>. You sign in as <strong>${name}</strong>.</p>
${fault && html`<p class="notice bad" role="alert" id="fault">${fault}</p>`}
<form method="post" action="invitation" class="stack">
${tokenInput(door.formToken(request))}
<input type="hidden" name="token" value="${token}">
<input type="hidden" name="username" value="${name}" autocomplete="username">
${newPasswordFields}
<button class="primary">Sign in</button>
</form>`;
    return htmlResponse(fault === undefined ? 200 : 422, aloneDocument('Choose a password', body));
  }

  /** The customer of an invitation that can be accepted now. Throws a PageError, for others sooner or later that of too many attempts. */
  async #invited(request: DashboardRequest, door: Door, token: string): Promise<CustomerLogin> {
    const { clock, records } = this.#context;
    // First of all: attempts of strangers at the same address, such as that of a proxy, must not keep a customer out.
    const login = await records.store.customers.invited(hashKey(token), clock.epoch_ms());
    if (login) return login;
    const attempt = { name: 'invitation', address: door.addressOf(request) };
    const wait_s = Math.ceil(this.#throttle.wait_ms(attempt) / 1000);
    if (wait_s > 0)
      throw new PageError(429, 'Too many attempts.', `Try again in ${wait_s} seconds.`, {
        'retry-after': String(wait_s),
      });
    this.#throttle.failed(attempt);
    throw ended();
  }
}

const ended = () =>
  new PageError(
    404,
    'This invitation has been used, or has ended.',
    'If you have chosen a password, sign in with it. Otherwise ask for a new invitation.',
  );
