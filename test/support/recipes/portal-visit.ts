import { DashboardVisitor } from '../dashboard-visitor.ts';

/** Invites a customer at the dashboard, accepts at the portal and prints what comes of it: `node portal-visit.ts DASHBOARD PORTAL PASSWORD ACCOUNT`. */
const [dashboard = '', portal = '', password = '', account = ''] = process.argv.slice(2);

const operator = new DashboardVisitor(dashboard);
await operator.signIn(password, 'me');
const page = `people?account=${account}`;
const { location } = await operator.submit(page, { change: 'invite', customer: 'ann@example.com' });
const token = (await operator.secretAt(location)).split('token=')[1]!;

const customer = new DashboardVisitor(portal);
await customer.get('sign-in');
await customer.get(`invitation?token=${token}`);
const accepted = await customer.post('invitation', { token, password, repeated_password: password });
const start = await customer.get('');
const stranger = await new DashboardVisitor(portal).get('');
const names = start.text.includes(`ann@example.com · ${account}`);
process.stdout.write(
  `accepted: ${accepted.status}, start page: ${start.status}, names its account: ${names}, stranger: ${stranger.status}\n`,
);
