import { DashboardVisitor, throughProvider, type Visited } from '../dashboard-visitor.ts';

/**
 * Lets customers sign in at the portal in each way of its page, and prints what comes of it: `node portal-visit.ts DASHBOARD PORTAL PASSWORD
 * ACCOUNT ANNA`, with the passwords of the operator, who invites one of them, and of Anna.
 */
const [dashboard = '', portal = '', password = '', account = '', annas = ''] = process.argv.slice(2);

const say = (who: string, { status, text }: Visited) =>
  process.stdout.write(`${who}: ${status}, names its account: ${text.includes(`${who} · ${account}`)}\n`);

const operator = new DashboardVisitor(dashboard);
await operator.signIn(password, 'me');
const page = `people?account=${account}`;
const { location } = await operator.submit(page, { change: 'invite', customer: 'ann@example.com' });
const token = (await operator.secretAt(location)).split('token=')[1]!;

const customer = new DashboardVisitor(portal);
await customer.get('sign-in');
await customer.get(`invitation?token=${token}`);
const accepted = await customer.post('invitation', { token, password, repeated_password: password });
process.stdout.write(`accepted: ${accepted.status}\n`);
say('ann@example.com', await customer.get(''));

const anna = new DashboardVisitor(portal);
await anna.signIn(annas, 'anna@example.com');
say('anna@example.com', await anna.get(''));

for (const who of ['ben@example.com', 'cleo@example.com', 'dora@example.com']) {
  const visitor = new DashboardVisitor(portal);
  const { location } = await visitor.get('sign-in-oidc');
  const back = await throughProvider(`${location}&login_hint=${who}`, portal);
  await visitor.get(back, { 'sec-fetch-site': 'cross-site' });
  say(who, await visitor.get(''));
}

say('stranger', await new DashboardVisitor(portal).get(''));
