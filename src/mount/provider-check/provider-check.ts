import { day_ms } from '../../common/durations.ts';
import { type Finding, finding } from '../../common/finding.ts';
import { timeLeft } from '../../config/certificate-files.ts';
import type { Settings } from '../../config/load.ts';
import type { ProviderSettings } from '../../config/load-provider.ts';
import type { Provider } from '../../gateway/upstream/http/provider.ts';
import { withoutCredentials } from '../../gateway/upstream/http/scrub.ts';
import { jsonOf, messageOfErrorBody } from '../../gateway/upstream/http/upstream-error.ts';
import { askServer, faultOf, NoAnswer, type ServerAnswer } from './ask-server.ts';
import { askForModels, baseOf, modelsIn, providerToAsk, refusalOf } from './list-models.ts';

const { fault, ok, warning } = finding;

/** Keys of one provider that are tried. */
const max_keys = 20;
/** Names of models that are listed in one finding. */
const max_names = 5;
/** Time for a reply of one token, prefill of a large model included. */
const generate_ms = 60_000;

const remedyFor = 'see the documentation of the server';

/** What was found, and the server's clock against this one, where its answer says it. */
export interface ProviderFindings {
  readonly findings: readonly Finding[];
  readonly skew_ms?: number | undefined;
}

/** Asks one provider for its models with each of its keys, and for one token of each of its upstream models if `generate`. */
export async function checkProvider(
  settings: ProviderSettings,
  models: Settings['models'],
  generate: boolean,
): Promise<ProviderFindings> {
  const { name, definition, config } = settings;
  const thing = `provider ${name}`;
  const provider = providerToAsk(settings);
  try {
    const check = new ProviderCheck(provider, definition.name, thing);
    const upstreams = models.flatMap(model =>
      model.upstreams
        .filter(upstream => upstream.provider === name)
        .map(upstream => ({ model: upstream.model, max_tokens: model.max_completion_tokens })),
    );
    return await check.all(upstreams, generate);
  } catch (thrown) {
    const finding = faultOf(thing, thrown, remedyFor);
    return { findings: [{ ...finding, found: `${baseOf(config.base_url)}: ${finding.found}` }] };
  } finally {
    await provider.close();
  }
}

interface UpstreamModel {
  readonly model: string;
  readonly max_tokens: number;
}

class ProviderCheck {
  readonly #provider: Provider;
  readonly #adapter: string;
  readonly #thing: string;
  readonly #keyHeaders: readonly Readonly<Record<string, string>>[];

  constructor(provider: Provider, adapter: string, thing: string) {
    this.#provider = provider;
    this.#adapter = adapter;
    this.#thing = thing;
    const { keys } = provider;
    const tried = Math.min(keys.values.length, max_keys);
    this.#keyHeaders = tried === 0 ? [{}] : Array.from({ length: tried }, () => keys.next()!.headers);
  }

  async all(upstreams: readonly UpstreamModel[], generate: boolean): Promise<ProviderFindings> {
    const [first, ...others] = await Promise.allSettled(
      this.#keyHeaders.map(headers => this.#models(headers)),
    );
    if (first!.status === 'rejected') throw first!.reason;
    const answer = first!.value;
    const findings = [
      (await this.#unversioned(answer)) ?? this.#listFinding(answer, upstreams),
      ...others.flatMap((other, at) => this.#keyFinding(other, at + 1)),
      ...(await this.#openRouterKey()),
      ...this.#certificate(answer),
      ...(generate ? await this.#generated(upstreams) : []),
    ];
    const skew_ms = answer.date_ms === undefined ? undefined : Date.now() - answer.date_ms;
    return { findings, skew_ms };
  }

  #models(keyHeaders: Readonly<Record<string, string>>): Promise<ServerAnswer> {
    const headers = { ...this.#provider.ownHeaders, ...keyHeaders };
    return askForModels({ adapter: this.#adapter, base_url: this.#provider.config.base_url, headers });
  }

  /** A fault if the list of models is below `/v1`, which the address lacks: every request would be answered 404. */
  async #unversioned({ status }: ServerAnswer): Promise<Finding | undefined> {
    const { config, ownHeaders } = this.#provider;
    const place = baseOf(config.base_url);
    if (status !== 404 || place.endsWith('/v1')) return undefined;
    const base_url = `${place}/v1`;
    const headers = { ...ownHeaders, ...this.#keyHeaders[0] };
    const found = await askForModels({ adapter: this.#adapter, base_url, headers }).catch(() => undefined);
    if (found === undefined || found.status < 200 || found.status > 299) return undefined;
    return fault(
      this.#thing,
      `${place} has no list of models (404), and ${base_url} has one`,
      `write base_url: ${base_url}`,
    );
  }

  #listFinding(answer: ServerAnswer, upstreams: readonly UpstreamModel[]): Finding {
    const thing = this.#thing;
    const place = baseOf(this.#provider.config.base_url);
    const { status } = answer;
    if (status === 404 || status === 405)
      return warning(
        thing,
        `${place} has no list of models (${status}), so its key and its models are not checked`,
        'check the address, which usually ends with /v1, and try: sluice doctor --generate',
      );
    try {
      const listed = modelsIn(answer, this.#provider.keys.values.length > 0).map(({ id }) => id);
      const missing = [...new Set(upstreams.map(({ model }) => model))].filter(
        model => !listed.includes(model),
      );
      if (missing.length === 0 || servesAnyName.has(this.#adapter))
        return ok(thing, `${place} lists ${listed.length} models in ${Math.round(answer.elapsed_ms)} ms`);
      return this.#missing(missing, listed);
    } catch (thrown) {
      const { message, remedy } = thrown as NoAnswer;
      const told = this.#provider.redacted(message);
      return status === 429 ? warning(thing, told, remedy) : fault(thing, `${place}: ${told}`, remedy);
    }
  }

  #missing(missing: readonly string[], listed: readonly string[]): Finding {
    const found = `its list of models has no ${namesOf(missing)}`;
    // Of other servers aliases and variants are no faults: they need not be listed.
    const say = this.#adapter === 'vllm' ? fault : warning;
    return say(this.#thing, found, `correct upstreams.model; it lists: ${namesOf(listed)}`);
  }

  #keyFinding(result: PromiseSettledResult<ServerAnswer>, at: number): Finding[] {
    const thing = `${this.#thing}, key ${at + 1}`;
    if (result.status === 'rejected') return [faultOf(thing, result.reason, remedyFor)];
    const { status, text } = result.value;
    if (status !== 401 && status !== 403) return [];
    const { message, remedy } = refusalOf(status, text);
    return [fault(thing, this.#provider.redacted(message), remedy)];
  }

  /** OpenRouter lists its models without a key; this path wants one. */
  async #openRouterKey(): Promise<Finding[]> {
    if (this.#adapter !== 'openrouter') return [];
    const address = `${baseOf(this.#provider.config.base_url)}/key`;
    const results = await Promise.allSettled(
      this.#keyHeaders.map(headers =>
        askServer(address, { headers: { ...this.#provider.ownHeaders, ...headers } }),
      ),
    );
    return results.flatMap((result, at) => this.#keyFinding(result, at));
  }

  #certificate({ certificate_ends_ms }: ServerAnswer): Finding[] {
    if (certificate_ends_ms === undefined) return [];
    const days = Math.floor((certificate_ends_ms - Date.now()) / day_ms);
    const found = `its certificate ends in ${days} days, on ${new Date(certificate_ends_ms).toISOString().slice(0, 10)}`;
    const thing = `${this.#thing}, certificate`;
    const isEnough = timeLeft(certificate_ends_ms, Date.now()) === 'enough';
    return [isEnough ? ok(thing, found) : warning(thing, found, 'have the certificate renewed')];
  }

  #generated(upstreams: readonly UpstreamModel[]): Promise<Finding[]> {
    const once = new Map(upstreams.map(upstream => [upstream.model, upstream]));
    return Promise.all([...once.values()].map(upstream => this.#generate(upstream)));
  }

  async #generate({ model, max_tokens: maxTokens }: UpstreamModel): Promise<Finding> {
    const thing = `${this.#thing}, one token of ${model}`;
    const provider = this.#provider;
    const { adapter } = provider;
    try {
      const encoded = provider.encode(
        {
          model,
          messages: [{ role: 'user', content: 'Hi' }],
          stream: false,
          max_tokens: 1,
          parameters: {},
          unknown: {},
        },
        { model, effortMap: {}, extraParameters: [], maxTokens },
      );
      const answer = await askServer(`${baseOf(provider.config.base_url)}${encoded.path}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json',
          ...provider.ownHeaders,
          ...this.#keyHeaders[0],
          ...encoded.headers,
        },
        body: JSON.stringify(encoded.body),
        timeout_ms: generate_ms,
      });
      if (answer.status > 299) throw refusalOf(answer.status, messageOfErrorBody(answer.text) ?? answer.text);
      adapter.decodeReply(jsonOf(answer.text));
      return ok(thing, `answered in ${Math.round(answer.elapsed_ms)} ms`);
    } catch (thrown) {
      const { message } = thrown as Error;
      const isKey = /^answered 40[13]/.test(message);
      const remedy =
        isKey && thrown instanceof NoAnswer
          ? thrown.remedy
          : 'check the model, and that the adapter is the right one';
      return fault(thing, provider.redacted(withoutCredentials(message)), remedy);
    }
  }
}

/** Servers of one model, which they serve under any name. */
const servesAnyName: ReadonlySet<string> = new Set(['llama-cpp', 'sglang']);

const namesOf = (names: readonly string[]): string =>
  names.length <= max_names
    ? names.join(', ') || 'none'
    : `${names.slice(0, max_names).join(', ')} and ${names.length - max_names} more`;
