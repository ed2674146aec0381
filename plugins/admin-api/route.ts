import { z } from 'zod';
import type { ExtensionContext, Operator, OperatorRole } from '../../src/plugin.ts';
import type { Permission } from './permissions.ts';

/** Who asks. */
export interface Caller {
  /** Id of the key, or of one of the configuration its name. */
  readonly id: string;
  /** Name of the key. */
  readonly name: string;
  readonly role: OperatorRole;
}

/** One request to a route, with what its schemas have made of it. */
export interface Call<Params = unknown, Query = unknown, Body = unknown> {
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly caller: Caller;
  readonly context: ExtensionContext;
  /** For the store's methods that change something. */
  readonly operator: Operator;
  /** Throws 412 unless the `If-Match` of the request takes the tag: to be called within the transaction of a change. Routes with `if_match` only. */
  checkMatch(etag: string): void;
}

/** What a route answers with. */
export interface Reply<Body> {
  readonly body: Body;
  /** Version of a single resource, by `etagOf`. */
  readonly etag?: string | undefined;
  /** Whether it was given to the same request before. */
  readonly isReplay?: boolean;
}

interface RouteParts<
  P extends z.ZodObject,
  Q extends z.ZodObject,
  B extends z.ZodObject,
  R extends z.ZodObject | z.ZodString,
> {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';
  /** Below `/v1`, with parameters as in `/accounts/{account}`. */
  readonly path: `/${string}`;
  /** In camelCase: the name of the operation in clients that are generated. */
  readonly name: string;
  /** One line, for the reference. */
  readonly summary: string;
  readonly permission: Permission;
  /** Strings in, whatever they are made to. */
  readonly params?: P;
  readonly query?: Q;
  /** Fields of the JSON object that the request has; without it there is no body. */
  readonly body?: B;
  readonly reply: R;
  /** Of the reply, JSON by default. Text is sent as it is. */
  readonly content_type?: 'application/json' | 'text/csv';
  /** 200 by default. */
  readonly status?: 200 | 201 | 202;
  /** Whether an `Idempotency-Key` is taken: for what makes something, by a method of the store that is given `operator`. */
  readonly once?: boolean;
  /** Whether `If-Match` is taken, which the handler checks by `checkMatch`. */
  readonly if_match?: boolean;
  handler(call: Call<z.output<P>, z.output<Q>, z.output<B>>): Promise<Reply<z.input<R>>>;
}

const nothing = z.strictObject({});

/** A route, whatever its schemas are. */
export interface Route
  extends Required<
    Omit<RouteParts<z.ZodObject, z.ZodObject, z.ZodObject, z.ZodObject | z.ZodString>, 'body' | 'handler'>
  > {
  readonly body: z.ZodObject | undefined;
  handler(call: Call<never, never, never>): Promise<Reply<unknown>>;
}

/** Declares a route of the Admin API. One without a permission does not compile. */
export function defineRoute<
  R extends z.ZodObject | z.ZodString,
  P extends z.ZodObject = typeof nothing,
  Q extends z.ZodObject = typeof nothing,
  B extends z.ZodObject = typeof nothing,
>(parts: RouteParts<P, Q, B, R>): Route {
  return {
    params: nothing,
    query: nothing,
    body: undefined,
    content_type: 'application/json',
    status: 200,
    if_match: false,
    once: false,
    ...parts,
  } as unknown as Route;
}
