import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { TLSSocket } from 'node:tls';
import { type Finding, finding } from '../../common/finding.ts';
import { http } from '../../common/node-http.ts';
import { printable } from '../../common/printable.ts';

/** What a server has answered. */
export interface ServerAnswer {
  readonly status: number;
  readonly text: string;
  readonly elapsed_ms: number;
  /** Its clock in Unix milliseconds, by the header `Date`, to the second. */
  readonly date_ms: number | undefined;
  /** When its certificate ends, in Unix milliseconds; undefined without TLS. */
  readonly certificate_ends_ms: number | undefined;
}

/** A server that could not be asked: the message says what is wrong, `remedy` what to do. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
  readonly remedy: string;

  constructor(message: string, remedy: string, options?: ErrorOptions) {
    // It may repeat what the server says.
    super(printable(message), options);
    this.remedy = remedy;
  }
}

export interface AskOptions {
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** For the whole answer. */
  readonly timeout_ms?: number;
  readonly max_bytes?: number;
  /** Of a server of this machine, whose certificate is for another name. */
  readonly trust_any_certificate?: boolean;
}

/** Time for one answer of one server, unless another is given. */
export const ask_ms = 10_000;
/** OpenRouter's list of models has about a megabyte. */
const max_answer_bytes = 16 * 1024 * 1024;

/**
 * Asks a server once, on a connection of its own, as providers are asked: no redirect is followed, no proxy of the environment used. Rejects
 * with NoAnswer when there is none in time, or one that is too large.
 */
export function askServer(address: string, options: AskOptions = {}): Promise<ServerAnswer> {
  const { method = 'GET', headers = {}, body, timeout_ms = ask_ms, max_bytes = max_answer_bytes } = options;
  const url = new URL(address);
  url.username = '';
  url.password = '';
  const { promise, resolve, reject } = Promise.withResolvers<ServerAnswer>();
  const began_ms = performance.now();
  const send = url.protocol === 'https:' ? httpsRequest : http.request;
  const all = { 'accept-encoding': 'identity', 'user-agent': 'sluice', ...headers };
  const signal = AbortSignal.timeout(timeout_ms);
  const rejectUnauthorized = !options.trust_any_certificate;
  const request = send(url, { method, agent: false, signal, headers: all, rejectUnauthorized }, response => {
    readAnswer(response, max_bytes)
      .then(text => resolve({ ...headOf(response), text, elapsed_ms: performance.now() - began_ms }))
      .catch(reject);
  });
  request.on('error', reject).end(body);
  return promise.catch(thrown => {
    throw signal.aborted ? tooLate(timeout_ms) : noAnswer(thrown, url);
  });
}

async function readAnswer(response: IncomingMessage, max_bytes: number): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > max_bytes)
      throw new NoAnswer(
        `its answer has more than ${max_bytes} bytes`,
        'check that the address is the right one',
      );
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

function headOf({ statusCode = 0, headers, socket }: IncomingMessage) {
  const date_ms = Date.parse(headers.date ?? '');
  const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
  return {
    status: statusCode,
    date_ms: Number.isNaN(date_ms) ? undefined : date_ms,
    certificate_ends_ms: certificate?.validToDate.getTime(),
  };
}

const tooLate = (timeout_ms: number): NoAnswer =>
  new NoAnswer(
    `no answer within ${timeout_ms / 1000} s`,
    'check that the server is not overloaded, and that no firewall drops the connection',
  );

const untrusted: readonly [string, string] = [
  'its certificate is not signed by an authority that this machine trusts',
  'name the certificate of the authority: NODE_EXTRA_CA_CERTS=/path/to/ca.pem',
];
const unknownName: readonly [string, string] = ['its name is not known', 'correct the name, or the DNS'];
const noRoute: readonly [string, string] = [
  'there is no way to it in the network',
  'check network and firewall',
];
const noTls: readonly [string, string] = [
  'it does not speak TLS at this port',
  'use http://, or its TLS port',
];

/** What is wrong and what to do, by the code of the error. */
const reasons: Readonly<Record<string, readonly [what: string, remedy: string]>> = {
  ECONNREFUSED: ['nothing listens there', 'start the server, or correct its address'],
  ECONNRESET: ['it cuts the connection', 'check whether the port wants https://, and what stands in between'],
  EPIPE: ['it cuts the connection', 'check whether the port wants https://, and what stands in between'],
  ENOTFOUND: unknownName,
  EAI_AGAIN: unknownName,
  EHOSTUNREACH: noRoute,
  ENETUNREACH: noRoute,
  ETIMEDOUT: ['it cannot be connected to in time', 'check network and firewall'],
  CERT_HAS_EXPIRED: ['its certificate has expired', 'renew the certificate of the server'],
  CERT_NOT_YET_VALID: ['its certificate is not valid yet', 'check the clocks of both machines'],
  ERR_TLS_CERT_ALTNAME_INVALID: [
    'its certificate is for other names',
    'use a name of the certificate in the address',
  ],
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  EPROTO: noTls,
  ERR_SSL_WRONG_VERSION_NUMBER: noTls,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: noTls,
};

/** What an error of a connection means, in words. */
export function noAnswer(thrown: unknown, { protocol }: Pick<URL, 'protocol'>): NoAnswer {
  if (thrown instanceof NoAnswer) return thrown;
  const { code = '', message } = thrown as NodeJS.ErrnoException;
  const [what, remedy] = reasons[code] ?? [];
  if (what !== undefined) return new NoAnswer(`${what} (${code})`, remedy!, { cause: thrown });
  if (code.startsWith('HPE_'))
    return new NoAnswer(
      `it does not answer in HTTP/1 (${code})`,
      protocol === 'http:' ? 'check the port, and whether it wants https://' : 'check the port',
      { cause: thrown },
    );
  return new NoAnswer(message || code, 'check address, network and firewall', { cause: thrown });
}

/** Finding for what a check has thrown; `remedy` for errors that bring none of their own. */
export function faultOf(thing: string, thrown: unknown, remedy: string): Finding {
  const message = (thrown as Error).message.split('\n')[0]!;
  return finding.fault(thing, message, thrown instanceof NoAnswer ? thrown.remedy : remedy);
}
