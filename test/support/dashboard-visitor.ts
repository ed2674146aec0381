import type { GatewayConfig } from '../../src/config/schema.ts';

/** The reply of a page. */
export interface Visited {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Target of the redirect, relative to the dashboard. */
  readonly location: string | undefined;
}

export const operator = { name: 'olga', password: 'correct horse battery' } as const;
/** Of the operator's password, at the lowest cost that is accepted: half of what a new hash costs. */
export const password_hash =
  'scrypt:16384:8:1:7If9UxJYnchAK57svzisag:CG9xsdGB-ZYkxCTzs8k4_Mt2QXCN0AWSUIJSSrzOLfo';

/** The configuration's `admin` on a free port, with one operator. */
export const dashboardAdmin = (more: object = {}) => ({
  port: 0,
  users: { [operator.name]: { password_hash } },
  ...more,
});

/** A dashboard client without a browser: keeps cookies, fills in forms, and follows redirects only on request. */
export class DashboardVisitor {
  readonly base: string;
  readonly cookies = new Map<string, string>();
  /** CSRF token of the last page that had a form. */
  token = '';
  /** Nonce of the last page that had a form which issues a key. */
  nonce = '';
  #origin: string;

  /** `base` ends with a slash. */
  constructor(base: string) {
    this.base = base;
    this.#origin = new URL(base).origin;
  }

  /** The header of its cookies. */
  get cookie(): string {
    return [...this.cookies].map(pair => pair.join('=')).join('; ');
  }

  get(page: string, headers: Readonly<Record<string, string>> = {}): Promise<Visited> {
    return this.#send(page, { headers });
  }

  /** Sends a form with the latest token and nonce, unless `fields` has others. */
  post(
    page: string,
    fields: Readonly<Record<string, string | readonly string[]>>,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Visited> {
    const sent = { form_token: this.token, ...(this.nonce && { nonce: this.nonce }), ...fields };
    const pairs = Object.entries(sent).flatMap(([name, values]) =>
      [values].flat().map((value): [string, string] => [name, value]),
    );
    return this.#send(page, {
      method: 'POST',
      body: new URLSearchParams(pairs),
      headers: { origin: this.#origin, ...headers },
    });
  }

  /** Loads a page, whose token and nonce a form needs, and sends its form. */
  async submit(...form: Parameters<DashboardVisitor['post']>): Promise<Visited> {
    await this.get(form[0]);
    return this.post(...form);
  }

  /** The key that the page at `location` shows. */
  async secretAt(location: string | undefined): Promise<string> {
    return secretIn(await this.get(location!)) ?? '';
  }

  /** Issues a key for an account by its form. */
  async issue(
    account: string,
    fields: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly id: string; readonly key: string; readonly location: string }> {
    await this.get(`keys?account=${account}`);
    const { location = '' } = await this.post(`keys?account=${account}`, fields);
    const id = new URLSearchParams(location.split('?')[1]).get('id')!;
    return { id, key: await this.secretAt(location), location };
  }

  /** The same browser at another address, or a copy of it. */
  movedTo(base: string): DashboardVisitor {
    const moved = new DashboardVisitor(base);
    for (const [name, value] of this.cookies) moved.cookies.set(name, value);
    return moved;
  }

  async signIn(password: string = operator.password, name: string = operator.name): Promise<Visited> {
    return this.submit('sign-in', { name, password });
  }

  async #send(page: string, init: RequestInit): Promise<Visited> {
    const { cookie } = this;
    const headers = { ...(init.headers as object), ...(cookie && { cookie }) };
    const response = await fetch(this.base + page, { redirect: 'manual', ...init, headers });
    for (const set of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      if (value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    const text = await response.text();
    this.token = /name="form_token" value="([^"]+)"/.exec(text)?.[1] ?? this.token;
    this.nonce = /name="nonce" value="([^"]+)"/.exec(text)?.[1] ?? this.nonce;
    const { status } = response;
    return {
      status,
      headers: response.headers,
      text,
      location: response.headers.get('location') ?? undefined,
    };
  }
}

/** Who has signed in at the dashboard of a gateway. */
export async function operatorAt(
  { adminUrl }: { readonly adminUrl: string },
  name: string = operator.name,
): Promise<DashboardVisitor> {
  const visitor = new DashboardVisitor(`${adminUrl}/dashboard/`);
  await visitor.signIn(operator.password, name);
  return visitor;
}

/** Follows the redirects of a provider with its cookies, up to the address below `base` to which it leads back. */
export async function throughProvider(url: string, base: string): Promise<string> {
  const there = new DashboardVisitor(`${new URL(url).origin}/`);
  let at = url;
  while (!at.startsWith(base)) {
    const { location, text } = await there.get(at.slice(there.base.length));
    if (!location) throw new Error(`the provider answered ${text}`);
    at = new URL(location, at).href;
  }
  return at.slice(base.length);
}

/** Two customers of different accounts, both with the operator's password. */
export const customers = { carla: 'acme', mallory: 'rival' } as const;

/** The configuration's `portal`, with these customers. */
export const portalSection = (more: object = {}): GatewayConfig['portal'] => ({
  enabled: true,
  users: Object.fromEntries(
    Object.entries(customers).map(([name, account]) => [name, { password_hash, account }]),
  ),
  ...more,
});

/** A customer who has signed in. */
export async function customerOf(
  { url }: { readonly url: string },
  name: keyof typeof customers = 'carla',
): Promise<DashboardVisitor> {
  const visitor = new DashboardVisitor(`${url}/portal/`);
  await visitor.signIn(operator.password, name);
  return visitor;
}

/** The key or link that a page shows once. */
export const secretIn = ({ text }: Visited): string | undefined => /id="secret">([^<]+)</.exec(text)?.[1];

/** Who a page says is signed in. */
export const whoIn = ({ text }: Visited): string | undefined => /class="muted who">([^<]+)</.exec(text)?.[1];

/** The cells of a page's tables, a row each. */
export const tableRows = (page: string): string[][] =>
  [...page.matchAll(/<tr[^>]*>(<td.*?)<\/tr>/gs)].map(([, row = '']) =>
    [...row.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell = '']) =>
      cell.replaceAll(/<[^>]*>/g, '').trim(),
    ),
  );

/** The target of a page's link to the next or the previous part of a list. */
export const linkIn = (text: string, rel: 'next' | 'prev'): string | undefined =>
  new RegExp(`href="([^"]+)" rel="${rel}"`).exec(text)?.[1]?.replaceAll('&amp;', '&');

/** A text of a page as its reader sees it. */
export const unescaped = (text: string): string =>
  text.replace(/&(?:#(\d+)|(amp|quot|lt|gt));/g, (_, code, name: string) =>
    code ? String.fromCodePoint(Number(code)) : { amp: '&', quot: '"', lt: '<', gt: '>' }[name]!,
  );

/** The fields of the form that has `mark`, as a browser sends them if nothing is edited. */
export function formFields(page: string, mark: string): Record<string, string> {
  const form = page.match(/<form[\s\S]*?<\/form>/g)?.find(one => one.includes(mark)) ?? '';
  const attribute = (tag: string, name: string) => new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1] ?? '';
  const fields = [...form.matchAll(/<input [^>]*>/g)].map(([tag]) => [
    attribute(tag, 'name'),
    attribute(tag, 'value'),
  ]);
  for (const [, name, options] of form.matchAll(/<select name="([^"]+)"[^>]*>([\s\S]*?)<\/select>/g)) {
    const all = options!.match(/<option [^>]*>/g)!;
    const chosen = all.find(tag => / selected/.test(tag)) ?? all[0]!;
    if (!/ disabled/.test(chosen)) fields.push([name!, attribute(chosen, 'value')]);
  }
  return Object.fromEntries(fields.map(([name, value]) => [name, unescaped(value!)]));
}
