import type { IncomingMessage, ServerResponse } from 'node:http';
import { isPlainPath, pathTest, queryOf } from '../../config/passthrough-path.ts';
import type { PassthroughRule } from '../../config/passthrough-rule.ts';
import type { ModelList } from '../../gateway/accounts/accounts.ts';
import { allName, forbiddenModel, unreadLists } from '../../gateway/accounts/model-lists.ts';
import type { Model } from '../../gateway/catalog/catalog.ts';
import { invalidField, refusal } from '../../gateway/exchange/errors.ts';
import type { Exchange } from '../../gateway/exchange/exchange.ts';
import { type BodyLimits, tooLarge } from '../../gateway/inbound/body-limits.ts';
import { BufferedBody, type BufferedBytes } from '../../gateway/inbound/buffered-bytes.ts';
import type { Route } from '../../gateway/inbound/routes.ts';
import { bytesOf, receivedBytes } from '../../gateway/inbound/upload.ts';
import type { Provider } from '../../gateway/upstream/http/provider.ts';
import { AttemptPermit } from '../../gateway/upstream/routing/attempt-permit.ts';
import type { Router } from '../../gateway/upstream/routing/router.ts';
import type { AppliedControls } from '../controls/applied-controls.ts';
import { readAgain, restoreBody } from '../replay-body.ts';
import { NamedCall } from './named-call.ts';
import { PassthroughMeter } from './passthrough-meter.ts';
import { ProviderProxy } from './provider-proxy.ts';
import { nameInTarget, ServedModels } from './served-models.ts';
import {
  type Target,
  type Transfer,
  type TransferLimits,
  type TransferParts,
  Transfers,
} from './transfers.ts';
import { mostUseOf } from './unread-use.ts';

/** A configured route to one provider. */
export interface PassthroughRoute extends Route {
  readonly rule: PassthroughRule;
}

type PassthroughLimits = TransferLimits & BodyLimits;

interface PassthroughSettings {
  readonly passthrough: readonly PassthroughRule[];
  readonly server: PassthroughLimits;
  readonly models: readonly Model[];
}

/** The parts of the gateway that it uses. */
interface PassthroughParts extends TransferParts {
  readonly buffered: BufferedBytes;
  readonly router: Pick<Router, 'upstreamsOf'>;
  readonly controls: Pick<AppliedControls, 'current' | 'stateOf'>;
}

export const isPassthrough = (route: Route): route is PassthroughRoute => route.name === 'passthrough';

/**
 * Paths beside the interface that go to one provider with their bytes untouched, or to the upstreams of the model that they name: audio,
 * pictures, files. Keys, limits, metrics, spans, the bill of reported usage and the error envelope are the gateway's.
 */
export class Passthrough {
  readonly #routes: readonly {
    readonly matches: (path: string) => boolean;
    readonly route: PassthroughRoute;
  }[];
  readonly #upstreams = new Map<string, Target>();
  /** Models whose calls are passed through wherever they are served. */
  readonly #named: ReadonlyMap<string, Model>;
  readonly #limits: PassthroughLimits;
  readonly #parts: PassthroughParts;
  readonly #transfers: Transfers;

  constructor(
    { passthrough: rules, server, models }: PassthroughSettings,
    providers: readonly Provider[],
    parts: PassthroughParts,
  ) {
    this.#limits = server;
    this.#parts = parts;
    this.#transfers = new Transfers(server, parts);
    const named = models.filter(({ operations }) => operations?.includes('passthrough'));
    this.#named = new Map(named.map(model => [model.id, model]));
    const all = new ServedModels(named);
    const areNamed = rules.some(({ provider }) => provider === undefined);
    const asked = new Set([
      ...rules.map(({ provider }) => provider),
      ...(areNamed ? named.flatMap(({ upstreams }) => upstreams.map(({ provider }) => provider)) : []),
    ]);
    // Whole paths first, so that they take precedence over the patterns that include them.
    const ordered = rules.toSorted((a, b) => Number(a.path.endsWith('*')) - Number(b.path.endsWith('*')));
    for (const provider of providers) {
      const { name } = provider;
      if (asked.has(name))
        this.#upstreams.set(name, {
          provider,
          proxy: new ProviderProxy(provider),
          models: new ServedModels(models, name),
        });
    }
    this.#routes = ordered.map(rule => ({
      matches: pathTest(rule.path),
      route: routeOfRule(
        rule,
        rule.provider === undefined ? all : this.#upstreams.get(rule.provider)?.models,
      ),
    }));
  }

  /** Route for a request path, if a rule allows it. No rule allows a path that servers may read differently. */
  routeOf(path: string): PassthroughRoute | undefined {
    const route = this.#routes.find(({ matches }) => matches(path))?.route;
    // A configured path was checked with the configuration.
    return route && (path === route.pattern || isPlainPath(path)) ? route : undefined;
  }

  /**
   * Forwards the request to the provider and its reply to the client. Throws a GatewayError before the reply has begun; destroys the reply
   * after.
   */
  async send(
    exchange: Exchange,
    { rule }: PassthroughRoute,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { url = '/' } = request;
    const query = queryOf(url);
    if (query === undefined) throw refusal('unknown_url');
    if (Number(request.headers['content-length']) > rule.max_body_bytes) throw tooLarge(rule.max_body_bytes);
    if (rule.provider === undefined) return this.#sendNamed({ exchange, rule, request, response, query });
    const { controls } = this.#parts;
    if (controls.current.size > 0 && controls.stateOf(rule.provider) !== 'active')
      throw refusal('out_of_service');
    const to = this.#upstreams.get(rule.provider)!;
    const lists = unreadLists(exchange);
    if (lists) return this.#sendListed({ exchange, rule, request, response, query, to }, lists);
    const meter = PassthroughMeter.of(exchange, to.models, this.#parts.metrics, url);
    await this.#transfers.send({ exchange, rule, request, response, query, to, meter });
  }

  /** Reads the whole body, and sends it if the models that it and the path name are ones that the account may use. */
  async #sendListed(call: Omit<Transfer, 'meter'>, lists: readonly ModelList[]): Promise<void> {
    const { exchange, request, to } = call;
    const { url = '/' } = request;
    const held = new BufferedBody(this.#parts.buffered, exchange);
    try {
      const { bytes, named } = await this.#received(call, held);
      const inPath = to.models.inTarget(exchange.path, url)?.id ?? nameInTarget(exchange.path, url);
      const inBody =
        named.model === undefined ? undefined : (to.models.named(named.model)?.id ?? named.model);
      for (const id of [inPath, inBody])
        if (id !== undefined && !allName(lists, id)) throw forbiddenModel(id, lists);
      // Without a body nothing is asked of a model; a body that names none may ask any.
      if ((inBody ?? inPath) === undefined && (bytes.length > 0 || exchange.method === 'POST'))
        throw invalidField(
          'model',
          'is required here, since this account or API key may use some models only.',
        );
      readAgain(request, bytes);
      const meter = PassthroughMeter.of(exchange, to.models, this.#parts.metrics, url);
      await this.#transfers.send({ ...call, meter, ...(bytes.length > 0 && { length_bytes: bytes.length }) });
    } finally {
      held.release();
    }
  }

  /** The whole body of a call. */
  async #received(
    { exchange, rule, request }: Pick<Transfer, 'exchange' | 'rule' | 'request'>,
    held: BufferedBody,
  ) {
    const limits = { ...this.#limits, max_body_bytes: rule.max_body_bytes };
    restoreBody(request);
    const received = receivedBytes(request, limits, exchange, held);
    const bytes = received ?? (await bytesOf(request, limits, exchange, held));
    return { bytes, named: new NamedCall(request, bytes, limits, held) };
  }

  /** Reads the whole body, and asks one upstream of the model that it names after the other, until one has answered. */
  async #sendNamed(call: Omit<Transfer, 'to' | 'meter'>): Promise<void> {
    const { exchange, request } = call;
    const { buffered, router, metrics } = this.#parts;
    const held = new BufferedBody(buffered, exchange);
    try {
      const { named } = await this.#received(call, held);
      exchange.requested_model = named.model;
      const model = this.#modelOf(named.model);
      const lists = unreadLists(exchange);
      if (lists && !allName(lists, model.id)) throw forbiddenModel(model.id, lists);
      exchange.model = model;
      const now_ms = exchange.clock.elapsed_ms();
      const upstreams = router.upstreamsOf(model.id);
      const open = upstreams.filter(({ control }) => !control || control.state === 'active');
      if (open.length === 0) throw refusal('out_of_service');
      const usable = open.filter(one => one.usable_in_ms(now_ms) === 0);
      if (usable.length === 0)
        throw refusal('provider_unreachable', { cause: new Error('no upstream of the model is usable') });
      for (const [at, upstream] of usable.entries()) {
        const body = named.bodyFor(upstream.target.model);
        readAgain(request, body);
        const to = this.#upstreams.get(upstream.provider.name)!;
        const meter = new PassthroughMeter(exchange, to.models, metrics, request.url ?? '/');
        const permit = AttemptPermit.acquire(upstream, undefined, exchange.clock.elapsed_ms());
        const mayFollow = at + 1 < usable.length;
        const how = await this.#transfers.send({
          ...call,
          to,
          meter,
          permit,
          mayFollow,
          length_bytes: body.length,
        });
        if (how !== 'failed') return;
      }
    } finally {
      held.release();
    }
  }

  /** The model of this name. Throws for one that is not passed through. */
  #modelOf(name: string | undefined): Model {
    if (name === undefined) throw invalidField('model', 'is required: a model id from GET /v1/models');
    const model = this.#named.get(name);
    if (model) return model;
    throw invalidField('model', `'${name.slice(0, 128)}' is no model that serves this path.`);
  }

  close(): void {
    for (const { proxy } of this.#upstreams.values()) proxy.close();
  }
}

const routeOfRule = (rule: PassthroughRule, models: ServedModels | undefined): PassthroughRoute => ({
  name: 'passthrough',
  public: false,
  methods: rule.methods,
  pattern: rule.path,
  rule,
  mostUse: call => models && mostUseOf(call, models),
});
