import { type AddressInfo, createServer, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { SelfSigned } from './self-signed-certificate.ts';

/** A mail as the server took it. */
export interface TakenMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Headers and text, with the lines of the wire. */
  readonly data: string;
  /** What the client signed in with: base64 of `AUTH PLAIN`. */
  readonly auth: string | undefined;
  readonly isEncrypted: boolean;
}

/** An SMTP server that takes every mail, unless `replies` say otherwise: by the verb, such as `RCPT`, and used up one after the other. */
export interface SmtpServer {
  readonly port: number;
  readonly mails: readonly TakenMail[];
  readonly replies: { readonly verb: string; readonly reply: string }[];
  close(): void;
}

/** With `tls` clients sign in after STARTTLS only. */
export async function startSmtp(tls?: SelfSigned): Promise<SmtpServer> {
  const mails: TakenMail[] = [];
  const replies: { verb: string; reply: string }[] = [];
  const sockets = new Set<Socket>();
  const serve = (socket: Socket) => {
    sockets.add(socket.once('close', () => sockets.delete(socket)).on('error', () => {}));
    const isEncrypted = socket instanceof TLSSocket;
    const offer = tls && !isEncrypted ? 'STARTTLS' : 'AUTH PLAIN';
    let [waiting, isData, auth] = ['', false, undefined as string | undefined];
    let mail = { from: '', to: [] as string[] };
    const answer = (line: string): string => {
      const verb = line.split(/[ :]/)[0]!.toUpperCase();
      const at = replies.findIndex(reply => reply.verb === verb);
      if (at !== -1) return replies.splice(at, 1)[0]!.reply;
      if (verb === 'EHLO') return `250-here\r\n250 ${offer}`;
      if (verb === 'AUTH') auth = line.split(' ')[2];
      if (verb === 'MAIL') mail = { from: /<(.*?)>/.exec(line)![1]!, to: [] };
      if (verb === 'RCPT') mail.to.push(/<(.*?)>/.exec(line)![1]!);
      if (verb === 'DATA') isData = true;
      const STARTTLS = tls ? '220 go on' : '502 no TLS here';
      return { AUTH: '235 in', DATA: '354 go on', QUIT: '221 bye', STARTTLS }[verb] ?? '250 ok';
    };
    socket.setEncoding('utf8').on('data', (text: string) => {
      waiting += text;
      for (;;) {
        const mark = isData ? '\r\n.\r\n' : '\r\n';
        const end = waiting.indexOf(mark);
        if (end === -1) return;
        const part = waiting.slice(0, end);
        waiting = waiting.slice(end + mark.length);
        if (isData) {
          isData = false;
          mails.push({ ...mail, data: part, auth, isEncrypted });
          socket.write('250 taken\r\n');
          continue;
        }
        socket.write(`${answer(part)}\r\n`);
        if (tls && /^STARTTLS$/i.test(part)) {
          socket.removeAllListeners('data');
          serve(new TLSSocket(socket, { isServer: true, ...tls }));
        }
      }
    });
  };
  const server = createServer(socket => {
    serve(socket);
    socket.write('220 here\r\n');
  }).listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    mails,
    replies,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
