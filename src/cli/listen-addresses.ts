import { isIP } from 'node:net';
import { checkListeners } from '../config/check-listeners.ts';
import type { Environment } from '../config/environment.ts';
import type { Settings } from '../config/load.ts';
import { CommandMistake } from './command.ts';

/** Where to listen, from outside of the configuration. */
export interface AddressChoice {
  /** Options of the command line, which win over the configuration. */
  readonly flags?: { readonly host?: string; readonly port?: number; readonly adminPort?: number };
  /** `HOST` and `PORT` of the public listener, where the configuration does not say. */
  readonly environment?: Environment;
}

interface Address {
  readonly host: string;
  readonly port: number;
}

/** The addresses of both listeners. */
export interface ListenAddresses {
  readonly server: Address;
  readonly admin: Address;
  /** `HOST`, if it was left out because it is no address: some shells export the name of the machine in it. */
  readonly ignoredHost: string | undefined;
}

/**
 * Where a sidecar listens: a flag wins over the configuration, which wins over `HOST` and `PORT`. Neither reaches the admin listener. Throws
 * a CommandMistake for a `PORT` that is no port, for one port twice, and if `HOST` alone would serve every network without a key.
 */
export function listenAddresses(
  { server, admin, isWritten }: Pick<Settings, 'server' | 'admin' | 'isWritten'>,
  { flags = {}, environment = {} }: AddressChoice,
): ListenAddresses {
  const given = isWritten.host || flags.host !== undefined ? undefined : environment.HOST || undefined;
  const isAddress = given !== undefined && (isIP(given) !== 0 || given === 'localhost');
  if (isAddress && server.open && !isLoopback(given))
    throw new CommandMistake(
      `HOST=${given} would serve everyone without a key, because server.open is set; if that is wanted, set server.host or give --host`,
    );
  const port = isWritten.port ? server.port : (portIn(environment.PORT) ?? server.port);
  const addresses = {
    server: { host: flags.host ?? (isAddress ? given : server.host), port: flags.port ?? port },
    admin: { host: admin.host, port: flags.adminPort ?? admin.port },
  };
  for (const { path, message } of checkListeners(addresses))
    throw new CommandMistake(`${path.join('.')}: ${message}`);
  return { ...addresses, ignoredHost: isAddress ? undefined : given };
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127\.[\d.]+$/.test(host);

function portIn(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new CommandMistake(
    `PORT in the environment must be a number from 0 to 65535, not '${text.slice(0, 64)}'; it counts because server.port is not set`,
  );
}
