/** A service beside a gateway: people sign up for an account with a key, pay for more credit, and are told when most of it is used. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import express from 'express';

const {
  SLUICE_URL = 'http://127.0.0.1:8081',
  SLUICE_ADMIN_KEY,
  NOTICES_SECRET = '',
  FREE_USD = '1',
  PORT = '8090',
} = process.env;

/** Asks the Admin API. */
async function admin(method: string, path: string, body?: object, headers = {}) {
  const response = await fetch(`${SLUICE_URL}/admin-api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${SLUICE_ADMIN_KEY}`, 'content-type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  const { status } = response;
  if (status >= 500 || status === 401) throw new Error(`${method} ${path}: ${status}`);
  return { status, etag: response.headers.get('etag'), body: Object(await response.json()) };
}

/** Whether a notice is signed as Standard Webhooks has it, and not older than five minutes. */
function isSigned(headers: NodeJS.Dict<string | string[]>, body: string): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': given } = headers;
  const key = Buffer.from(NOTICES_SECRET.replace('whsec_', ''), 'base64');
  const own = `v1,${createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64')}`;
  const isOwn = (one: string) =>
    one.length === own.length && timingSafeEqual(Buffer.from(one, 'latin1'), Buffer.from(own));
  return String(given).split(' ').some(isOwn) && Math.abs(Date.now() / 1000 - Number(at)) < 300;
}

/** Ids of notices that have come: one may come twice. */
const seen = new Set<unknown>();
const app = express();

app.post('/sign-up', express.json(), async (request, response) => {
  const { name, mail } = request.body;
  const account = { id: name, contacts: [mail], limits: { usd_total: FREE_USD } };
  const { status, body } = await admin('POST', '/accounts', account);
  if (status !== 201) return void response.status(status).json(body);
  const made = await admin('POST', '/keys', { account: name, name: 'first' });
  response.status(made.status).json({ account: name, key: made.body.key, credit_usd: FREE_USD });
});

// For the payment provider, which has to show that it is that.
app.post('/top-up', express.json(), async (request, response) => {
  const path = `/accounts/${encodeURIComponent(request.body.account)}`;
  for (;;) {
    const { status, etag, body } = await admin('GET', path);
    if (status !== 200) return void response.status(status).json(body);
    const usd_total = (Number(body.limits.usd_total ?? 0) + Number(request.body.usd)).toFixed(6);
    const changed = await admin(
      'PATCH',
      path,
      { limits: { ...body.limits, usd_total } },
      { 'if-match': etag },
    );
    // 412: another payment came between the two, and is read now.
    if (changed.status !== 412) return void response.status(changed.status).json({ credit_usd: usd_total });
  }
});

app.post('/notices', express.text({ type: '*/*' }), ({ headers, body }, response) => {
  if (!isSigned(headers, body)) return void response.sendStatus(401);
  const { id, type, data } = JSON.parse(body);
  if (type === 'limit.threshold_reached' && data.limit === 'usd_total' && !seen.has(id))
    process.stdout.write(`to ${data.account}: ${data.remaining} of ${data.max} dollars are left\n`);
  seen.add(id);
  response.sendStatus(204);
});

const server = app.listen(Number(PORT), '127.0.0.1', () => {
  process.stdout.write(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
