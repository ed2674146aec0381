import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sendMail } from '../../../../plugins/notices/mail.ts';
import { noticesOptions } from '../../../../plugins/notices/options.ts';
import { Targets } from '../../../../plugins/notices/targets.ts';
import { isContact } from '../../../../src/records/account-records.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { type SmtpServer, startSmtp } from '../../../support/smtp-server.ts';
import { until } from '../../../support/until.ts';

let smtp: SmtpServer;
beforeAll(async () => {
  smtp = await startSmtp();
});
afterAll(() => smtp.close());

const notice = {
  id: '019ab000-0000-7000-8000-000000000001',
  key: 'k',
  subject: 'account:acme',
  type: 'limit.threshold_reached',
  data: {
    account: 'acme',
    title: 'Dollars per month',
    used_percent: 84,
    used: '84.2',
    max: '100',
    resets_at: 'then',
  },
  created_ms: Date.parse('2026-11-20T12:00:00Z'),
};
const optionsOf = (mail: object = {}, more: object = {}) =>
  noticesOptions.parse({
    mail: {
      host: '127.0.0.1',
      port: smtp.port,
      tls: 'never',
      from: 'sluice@example.com',
      to: ['ops@example.com'],
      ...mail,
    },
    ...more,
  });

function send(to: string, given = notice, { mail, templates } = optionsOf()) {
  return sendMail(to, { mail: mail!, templates }, given, new AbortController().signal);
}

describe('sending a notice by mail', () => {
  it('is a mail in plain text with the words of its type, signed in, with the same id each time', async () => {
    const options = optionsOf({ user: 'me', password: 'secret' });
    await send('ops@example.com', notice, options);
    const { from, to, data, auth } = smtp.mails.at(-1)!;
    expect({ from, to }).toEqual({ from: 'sluice@example.com', to: ['ops@example.com'] });
    expect(Buffer.from(auth!, 'base64').toString()).toBe('\0me\0secret');
    expect(data).toContain(`Message-ID: <${notice.id}@example.com>`);
    expect(data).toContain('Subject: [sluice] acme: 84 % of Dollars per month used');
    expect(data).toMatch(
      /Account acme has used 84 % of a limit.\r\n\r\nLimit: Dollars per month, 100\r\nUsed: 84.2/,
    );
  });

  it('takes the words of the configuration', async () => {
    const templates = {
      'limit.threshold_reached': { subject: 'Hello {{account}}', text: 'At {{ resets_at }}: {{key}}.' },
    };
    await send('ann@acme.example', notice, optionsOf({}, { templates }));
    expect(smtp.mails.at(-1)!.data).toMatch(/Subject: Hello acme\r\n[\s\S]*\r\n\r\nAt then: \.\r?\n?$/);
    const endless = { ...notice, data: { ...notice.data, resets_at: null } };
    await send('ann@acme.example', endless as never, optionsOf({}, { templates }));
    expect(smtp.mails.at(-1)!.data).toContain('At never: .');
  });

  it('never gets a header or a receiver from what it tells', async () => {
    const count = smtp.mails.length;
    const hostile = fc.string({
      unit: fc.constantFrom('\r', '\n', '\r\nBcc: x@y.z', '\u2028', 'a', '{{account}}', ': ', '.\r\n'),
    });
    await fc.assert(
      fc.asyncProperty(hostile, async account => {
        await send('ops@example.com', { ...notice, data: { ...notice.data, account } });
        const { to, data } = smtp.mails.at(-1)!;
        const [head = ''] = data.split('\r\n\r\n');
        const names = head
          .replaceAll(/\r\n[ \t]/g, ' ')
          .split('\r\n')
          .map(line => line.split(':')[0]);
        expect(to).toEqual(['ops@example.com']);
        expect(
          names.filter(
            name =>
              !/^(From|To|Subject|Message-ID|Auto-Submitted|Date|MIME-Version|Content-T[a-z-]+)$/i.test(
                name!,
              ),
          ),
        ).toEqual([]);
      }),
      { numRuns: 40 },
    );
    expect(smtp.mails.length).toBeGreaterThan(count);
  });

  it.each([
    ['RCPT', '550 no such user', true],
    ['RCPT', '451 later', false],
    ['EHLO', '554 go away', false],
  ])('fails when the server answers %s with %s', async (verb, reply, isFinal) => {
    // Of EHLO the client tries HELO as well.
    smtp.replies.push({ verb, reply }, ...(verb === 'EHLO' ? [{ verb: 'HELO', reply }] : []));
    await expect(send('ops@example.com')).rejects.toMatchObject({ name: 'DeliveryFailed', isFinal });
  });

  it('does not sign in or send before TLS is there, by default', async () => {
    const count = smtp.mails.length;
    const options = optionsOf({ tls: 'starttls', user: 'me', password: 'secret' });
    await expect(send('ops@example.com', notice, options)).rejects.toThrow(/STARTTLS/i);
    expect(smtp.mails).toHaveLength(count);
  });

  it('waits no longer than its time limit, and ends the connection', async () => {
    let isEnded = false;
    const silent = createServer(socket => {
      const timer = setInterval(() => socket.write('220-wait\r\n'), 20);
      socket
        .on('error', () => {})
        .once('close', () => {
          clearInterval(timer);
          isEnded = true;
        });
    }).listen(0, '127.0.0.1');
    await new Promise(resolve => silent.once('listening', resolve));
    const options = optionsOf({ port: (silent.address() as AddressInfo).port, timeout_ms: 400 });
    await expect(send('ops@example.com', notice, options)).rejects.toMatchObject({ name: 'DeliveryFailed' });
    await until(() => isEnded, 1000);
    silent.close();
  });
});

describe('the receivers of notices', () => {
  const receivers = (options: ReturnType<typeof optionsOf>, type: string) =>
    new Targets({
      clock: new FakeClock(),
      options: () => options,
      contactsOf: async id => [`ann@${id}.example`],
    }).of({ ...notice, type });

  it('are operators, and customers only of the limits of their account', async () => {
    const options = optionsOf({ customers: true });
    expect(await receivers(options, 'limit.threshold_reached')).toEqual([
      'mail:ops@example.com',
      'mail:ann@acme.example',
    ]);
    expect(await receivers(options, 'provider.out')).toEqual(['mail:ops@example.com']);
    expect(await receivers(optionsOf(), 'limit.threshold_reached')).toEqual(['mail:ops@example.com']);
  });

  it('are told what they want to know, and tests', async () => {
    const options = optionsOf({ events: ['provider.out'] });
    expect(await receivers(options, 'limit.threshold_reached')).toEqual([]);
    expect(await receivers(options, 'test')).toEqual(['mail:ops@example.com']);
  });

  it.each(['a@b', 'anna.müller+x@example.com'])('can have the address %s', text =>
    expect(isContact(text)).toBe(true),
  );
  it.each([
    '',
    'a',
    'a@b@c',
    'a b@c',
    'a@b\r\nBcc: c@d',
    '<a@b>',
    'a@b,c@d',
    '"a"@b',
    'a@b;',
    `${'a'.repeat(250)}@b.cd`,
  ])('cannot have %j', text => expect(isContact(text)).toBe(false));
});

it('refuses templates with placeholders that their notice does not have', () => {
  const parsed = noticesOptions.safeParse({
    templates: { 'provider.out': { text: '{{provider}} {{account}}' } },
  });
  expect(parsed.error?.issues).toMatchObject([
    { path: ['templates', 'provider.out'], message: 'there is no {{account}} in it' },
  ]);
});
