import type { Expression } from '../expression.ts';
import { Fields } from '../fields.ts';
import type { Findings, Path } from '../findings.ts';
import { type ProviderKind, providerKind } from '../provider-kinds.ts';

/** One entry of `model_list`: a model at a provider. */
export interface Deployment {
  /** What clients ask for. */
  readonly group: string;
  /** The name of its provider in LiteLLM. */
  readonly vendor: string;
  readonly kind: ProviderKind;
  /** The model's name at the provider. */
  readonly model: string;
  readonly params: Fields;
  readonly info: Fields;
  readonly path: Path;
}

/** The providers of models that are named without one, by the beginning of their names. */
const unprefixed: readonly (readonly [RegExp, string])[] = [
  [/^(?:gpt-|o\d|chatgpt-|ft:|text-embedding-|dall-e|whisper-|tts-|omni-moderation)/, 'openai'],
  [/^claude-/, 'anthropic'],
  [/^gemini-/, 'vertex_ai'],
];

/** The deployments of a `model_list`. A wildcard becomes one for each of the names that fit and that no entry has of its own. */
export function deploymentsIn(root: Fields, names: readonly string[], findings: Findings): Deployment[] {
  const entries = root
    .list('model_list')
    .map((entry, at) => new Fields(entry, [...root.path, 'model_list', at], findings));
  const own = new Set(entries.map(entry => entry.value('model_name')));
  const wanted = new Map<string, readonly string[]>();
  for (const name of new Set(names)) {
    const pattern = own.has(name) ? undefined : closestPattern(name, own);
    if (pattern !== undefined) wanted.set(pattern, [...(wanted.get(pattern) ?? []), name]);
  }
  return entries.flatMap(entry => deploymentsOf(entry, wanted, findings));
}

function deploymentsOf(
  entry: Fields,
  wanted: ReadonlyMap<string, readonly string[]>,
  findings: Findings,
): Deployment[] {
  const [group, params] = [entry.value('model_name'), entry.fields('litellm_params')];
  const model = params.value('model');
  if (typeof group !== 'string' || group === '' || typeof model !== 'string' || model === '') {
    findings.lost(entry.path, 'must have a model_name and litellm_params.model');
    return [];
  }
  entry.follow({ model_name: null, litellm_params: null, model_info: null });
  const info = entry.fields('model_info');
  const given = { params, info, path: entry.path };
  if (!model.includes('*') && !group.includes('*')) return deploymentOf(group, model, given, findings);
  const fitting = (wanted.get(group) ?? []).map(name => [name, filled(model, restOf(name, group)!)] as const);
  if (fitting.length === 0)
    findings.lost(
      [...entry.path, 'model_name'],
      'is a wildcard, and the catalog names every model: import again with --models A,B for those that clients use',
    );
  return fitting.flatMap(([name, at]) => deploymentOf(name, at, given, findings));
}

/** The longest of the names with a star that `name` fits, as LiteLLM takes it. */
function closestPattern(name: string, groups: ReadonlySet<unknown>): string | undefined {
  const patterns = [...groups].filter(group => typeof group === 'string' && group.includes('*')) as string[];
  const fitting = patterns.filter(pattern => restOf(name, pattern) !== undefined);
  return fitting.sort((one, other) => other.length - one.length)[0];
}

/** A model with `rest` in the place of its star; a provider that both have stands once. */
function filled(model: string, rest: string): string {
  const [beginning = '', end = ''] = model.split('*');
  return beginning + (rest.startsWith(beginning) ? rest.slice(beginning.length) : rest) + end;
}

/** What the star of `pattern` stands for in `name`; undefined if it does not fit. */
export function restOf(name: string, pattern: string): string | undefined {
  const [beginning = '', end = ''] = pattern.split('*');
  const fits =
    name.startsWith(beginning) && name.endsWith(end) && name.length > beginning.length + end.length;
  return fits ? name.slice(beginning.length, name.length - end.length) : undefined;
}

function deploymentOf(
  group: string,
  written: string,
  given: Pick<Deployment, 'params' | 'info' | 'path'>,
  findings: Findings,
): Deployment[] {
  const { params } = given;
  const at = [...params.path, 'model'];
  const { vendor, model } = providerOf(written, params.value('custom_llm_provider'), params.text('api_base'));
  const kind = vendor === undefined ? undefined : providerKind(vendor);
  if (model === '') {
    findings.lost(at, 'names no model');
    return [];
  }
  if (vendor !== undefined && kind) return [{ group, vendor, kind, model: nameAt(vendor, model), ...given }];
  findings.lost(
    at,
    vendor === undefined
      ? 'names no provider: write it before the model, as openai/ for servers that speak its API'
      : `there is no adapter for ${vendor}; one that speaks OpenAI's API is written openai/ with its api_base`,
  );
  return [];
}

function providerOf(
  written: string,
  custom: unknown,
  api_base: Expression | undefined,
): { vendor: string | undefined; model: string } {
  const [first = '', ...rest] = written.split('/');
  if (typeof custom === 'string' && custom !== '')
    return { vendor: custom, model: first === custom ? rest.join('/') : written };
  if (rest.length > 0 && providerKind(first)) return { vendor: first, model: rest.join('/') };
  const known = unprefixed.find(([pattern]) => pattern.test(written))?.[1];
  if (known !== undefined) return { vendor: known, model: written };
  if (rest.length > 0) return { vendor: first, model: rest.join('/') };
  return { vendor: api_base === undefined ? undefined : 'openai', model: written };
}

/** The name that the provider itself has for a model. */
function nameAt(vendor: string, model: string): string {
  if (vendor === 'fireworks_ai' && !model.startsWith('accounts/'))
    return `accounts/fireworks/models/${model}`;
  if (vendor.startsWith('vertex_ai') && !model.includes('/')) return `google/${model}`;
  // Which of its interfaces LiteLLM uses.
  if (vendor === 'bedrock' || vendor === 'azure' || vendor === 'openai')
    return model.replace(/^(?:converse|invoke|responses|chat)\//, '');
  return model;
}
