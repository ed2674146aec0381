import { operatorRoles } from '../../src/plugin.ts';

/** Keys of the Admin API in a configuration, one for each role. */
export const adminApiKeys = operatorRoles.map(role => ({ name: role, role, value: adminKeyOf(role) }));

/** The key of a role among them. */
export function adminKeyOf(role: string): string {
  return `${role}-key-of-the-admin-api-0123456789`;
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into replies of all routes.
  readonly body: any;
}

interface Asked {
  readonly key?: string | undefined;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Asks the Admin API of a gateway whose admin listener is at `adminUrl`, as an admin unless `key` is another. */
export async function askAdminApi(
  adminUrl: string,
  request: string,
  { key = adminKeyOf('admin'), body, headers }: Asked = {},
): Promise<ApiAnswer> {
  const [method = 'GET', path = ''] = request.split(' ');
  const response = await fetch(`${adminUrl}/admin-api/v1${path}`, {
    method,
    headers: {
      ...(key && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const isJson = response.headers.get('content-type') === 'application/json';
  const answer = await (isJson ? response.json() : response.text());
  return { status: response.status, headers: response.headers, body: answer };
}
