import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import type { Clock, Log } from '../../../src/plugin.ts';
import { PageError } from '../page-response.ts';
import { strongest } from './claims.ts';
import type { Person, Role } from './roles.ts';
import type { Refusal } from './sign-in-log.ts';
import type { AdminProxySettings } from './sign-in-settings.ts';

interface ProxyHeaderSetup {
  readonly settings: AdminProxySettings;
  readonly clock: Clock;
  readonly log: Log;
  /** Told of each refusal. */
  readonly refused: (refusal: Refusal) => void;
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** A header of an untrusted connection is logged at most this often. */
const log_interval_ms = 60_000;
const max_name_characters = 256;

/** Recognizes people by a header of an authenticating proxy, on connections from its addresses alone. */
export class ProxyHeader {
  readonly #setup: ProxyHeaderSetup;
  readonly #networks: readonly (readonly [Address, number])[];
  #logged_ms = Number.NEGATIVE_INFINITY;

  constructor(setup: ProxyHeaderSetup) {
    this.#setup = setup;
    this.#networks = setup.settings.addresses.map(networkOf);
  }

  /** The person that the proxy names; undefined for nobody. Throws a PageError for a name without a role. */
  personOf(incoming: IncomingMessage): Person | undefined {
    const { settings, refused } = this.#setup;
    const given = incoming.headersDistinct[settings.header];
    if (given === undefined) return undefined;
    const address = incoming.socket.remoteAddress ?? '';
    if (!this.#isProxy(address)) return this.#ignored(address);
    const name = given.join(',').trim();
    if (given.length > 1 || name.includes(',') || name.length > max_name_characters)
      throw new PageError(400, `The header ${settings.header} must have one name.`, 'Its proxy sets it.');
    if (name === '') return undefined;
    const role = this.#roleOf(name, incoming.headersDistinct[settings.role_header ?? '']);
    if (role) return { actor: name, role };
    refused({ name: name.slice(0, 128), address, outcome: 'no role' });
    const advice = `The proxy names you ${name}, who is not let in. Ask an administrator.`;
    throw new PageError(403, 'You may not use this dashboard.', advice);
  }

  #roleOf(name: string, groups: readonly string[] | undefined): Role | undefined {
    const { roles, header_roles } = this.#setup.settings;
    if (Object.hasOwn(roles, name)) return roles[name];
    // A second header may be the browser's own.
    if (groups?.length !== 1) return undefined;
    return strongest(
      header_roles,
      groups[0]!.split(',').map(group => group.trim()),
    );
  }

  #isProxy(address: string): boolean {
    // With a zone, as of link-local addresses, it is not an address that can be listed.
    if (!ipaddr.isValid(address)) return false;
    const parsed = ipaddr.process(address);
    return this.#networks.some(
      ([network, bits]) => network.kind() === parsed.kind() && parsed.match(network, bits),
    );
  }

  #ignored(address: string): undefined {
    const { clock, log, settings } = this.#setup;
    const now_ms = clock.elapsed_ms();
    if (now_ms - this.#logged_ms < log_interval_ms) return;
    this.#logged_ms = now_ms;
    log.warn({ address, header: settings.header }, 'header ignored: not from an address of admin.proxy');
  }
}

function networkOf(text: string): readonly [Address, number] {
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
  const address = ipaddr.process(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}
