import type { DashboardVisitor, Visited } from './dashboard-visitor.ts';

/** Follows the redirects of a provider with its cookies, up to the address below `base` to which it leads back. */
export async function throughProvider(url: string, base: string): Promise<string> {
  const cookies = new Map<string, string>();
  let at = url;
  for (let hops = 0; hops < 10; hops++) {
    if (at.startsWith(base)) return at.slice(base.length);
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(at, { redirect: 'manual', headers: { cookie } });
    for (const set of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    if (!location) throw new Error(`the provider answered ${response.status}: ${await response.text()}`);
    at = new URL(location, at).href;
  }
  throw new Error('the provider leads in circles');
}

/** Signs in by OpenID as a browser does: the strict cookies stay behind on the way back. */
export async function signInByOpenid(visitor: DashboardVisitor, page = ''): Promise<Visited> {
  const query = page && `?${new URLSearchParams({ next: page })}`;
  const { location } = await visitor.get(`sign-in-oidc${query}`);
  return visitor.get(await throughProvider(location!, visitor.base), { 'sec-fetch-site': 'cross-site' });
}
