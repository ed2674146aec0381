import type { Transporter } from 'nodemailer';
import { missingPackage } from '../../src/plugin.ts';
import { DeliveryFailed, type Notice } from './delivery.ts';
import type { MailOptions, NoticesOptions } from './options.ts';
import { wordsOf } from './templates.ts';

/** The SMTP server refuses this mail, and would every time: 5xx behind `RCPT` or `DATA`. */
const isRefusal = ({
  responseCode,
  command,
}: {
  readonly responseCode?: number;
  readonly command?: string;
}) => responseCode !== undefined && responseCode >= 500 && /^(RCPT TO|DATA|MAIL FROM)/.test(command ?? '');

/** Sends a notice by SMTP, on a connection of its own. Resolves once the server has taken the mail. Throws DeliveryFailed. */
export async function sendMail(
  to: string,
  { mail, templates }: { readonly mail: MailOptions; readonly templates: NoticesOptions['templates'] },
  notice: Notice,
  signal: AbortSignal,
): Promise<void> {
  const transport = await transportOf(mail);
  const { subject, text } = wordsOf(notice, templates[notice.type as keyof typeof templates]);
  const total = AbortSignal.timeout(mail.timeout_ms);
  try {
    await transport.sendMail({
      from: { name: 'sluice', address: mail.from },
      to: { name: '', address: to },
      subject,
      text,
      // The same in every attempt, so that servers can tell a mail that comes twice.
      messageId: `<${notice.id}@${mail.from.split('@')[1]}>`,
      headers: { 'Auto-Submitted': 'auto-generated' },
      signal: AbortSignal.any([total, signal]),
    });
  } catch (cause) {
    if (total.aborted) throw new DeliveryFailed(`no answer within ${mail.timeout_ms} ms`);
    throw new DeliveryFailed((cause as Error).message, isRefusal(cause as object), { cause });
  } finally {
    transport.close();
  }
}

async function transportOf({
  host,
  port,
  tls,
  user,
  password,
  timeout_ms,
}: MailOptions): Promise<Transporter> {
  const { createTransport } = await import('nodemailer').catch(cause => {
    throw new DeliveryFailed(`notices.mail ${missingPackage('nodemailer', cause)}`, false, { cause });
  });
  return createTransport({
    host,
    port,
    secure: tls === 'always',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'never',
    ...(user !== undefined && { auth: { user, pass: password ?? '' } }),
    connectionTimeout: timeout_ms / 2,
    greetingTimeout: timeout_ms / 2,
    socketTimeout: timeout_ms / 2,
    // What is in a mail is only text.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}
