import type { OperatorRole } from '../../../src/plugin.ts';

/** What a person may do: as an operator, or as a `customer`, who sees only the own account, at the portal. */
export type Role = OperatorRole | 'customer';

/** A person who uses the dashboard or the portal. */
export interface Person {
  /** The name in the audit log. */
  readonly actor: string;
  readonly role: Role;
  /** The account that a customer sees; for no other role. */
  readonly account?: string | undefined;
}

/** Whose load is counted together: the customers of an account, or one operator. */
export const callerOf = ({ role, account, actor }: Person): string => `${role} ${account ?? actor}`;

/** What people with a role see beyond counts, and may do. */
export interface Rights {
  readonly sees: {
    /** Costs and limits in US dollars. */
    readonly money: boolean;
    /** What providers are paid, and the margin. */
    readonly margins: boolean;
    /** What requests are served by: providers, stages, traces, and who of operators did what from where. */
    readonly internals: boolean;
    /** What providers said of failed attempts. */
    readonly providerTexts: boolean;
    /** Where options stand in the configuration, and what tests of connections find. */
    readonly configuration: boolean;
  };
  readonly may: {
    /** Change keys, and the rest of what is shown. */
    readonly change: boolean;
    /** Change accounts: their plans, limits and state. */
    readonly changeAccounts: boolean;
    /** Invite customers, who see the money of their account. */
    readonly invite: boolean;
    /** End requests that run. */
    readonly cancel: boolean;
  };
}

export const rights: Readonly<Record<Role, Rights>> = {
  admin: {
    sees: { money: true, margins: true, internals: true, providerTexts: true, configuration: true },
    may: { change: true, changeAccounts: true, invite: true, cancel: true },
  },
  operator: {
    sees: { money: false, margins: false, internals: true, providerTexts: false, configuration: false },
    may: { change: true, changeAccounts: true, invite: false, cancel: false },
  },
  viewer: {
    sees: { money: true, margins: false, internals: true, providerTexts: false, configuration: false },
    may: { change: false, changeAccounts: false, invite: false, cancel: false },
  },
  customer: {
    sees: { money: true, margins: false, internals: false, providerTexts: false, configuration: false },
    may: { change: true, changeAccounts: false, invite: false, cancel: false },
  },
};

/** The name in the audit log of a person who uses the portal, by which customers are told from operators. */
export const customerName = (name: string): string => `${of_portal}${name}`;

/** The name of the customer whom the audit log names; undefined for everybody else. */
export const customerOf = (actor: string): string | undefined =>
  actor.startsWith(of_portal) ? actor.slice(of_portal.length) : undefined;

const of_portal = 'portal:';
