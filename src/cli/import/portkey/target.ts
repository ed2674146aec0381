import type { ImportedUpstream } from '../catalog-entry.ts';
import { type Expression, expressionOf, isAddress, isVariableAlone } from '../expression.ts';
import type { Fields } from '../fields.ts';
import type { Findings } from '../findings.ts';
import type { ImportedConfig } from '../imported-config.ts';
import { defaultNames, defaultsIn, type ModelDefaults } from '../model-defaults.ts';
import { providerKind, providerNames } from '../provider-kinds.ts';

/** What a target is read with. */
export interface TargetContext {
  readonly config: ImportedConfig;
  readonly findings: Findings;
  /** What clients ask for, where a target names no model. */
  readonly asked: string | undefined;
  /** What the targets set where clients leave it out, one for each that was read. */
  readonly defaults: ModelDefaults[];
  /** Of the configs around it. */
  readonly request_timeout_ms: number | undefined;
}

/** The model that a target names itself; `@provider/` before it is not a part of it. */
export function ownModel(target: Fields): string | undefined {
  const model =
    target.fields('override_params').value('model') ??
    target.value('deployment_id') ??
    target.value('azure_deployment_id');
  return typeof model === 'string' && model !== '' ? model.replace(/^@[^/]+\//, '') : undefined;
}

/** The upstream of a target without targets of its own; undefined, with a note, if it is not known who serves it. */
export function upstreamOf(target: Fields, context: TargetContext): ImportedUpstream | undefined {
  const { config, findings, asked, request_timeout_ms } = context;
  const defaults = parametersOf(target, findings);
  const model = ownModel(target) ?? asked;
  if (model === undefined) {
    findings.lost(
      target.path,
      'names no model: import again with --models A,B for those that clients ask for',
    );
    return undefined;
  }
  const given = vaultName(target);
  const name = vendorOf(target, given);
  const kind = name === undefined ? undefined : providerKind(name);
  const base_url = kind && addressOf(target, kind.adapter, kind.base_url);
  if (name === undefined || !kind || base_url === undefined || !isAddress(base_url)) {
    findings.lost(
      target.path,
      kind
        ? 'needs a custom_host: where the API is'
        : `there is no adapter for ${name ?? 'it: provider says whose API it is'}`,
    );
    return undefined;
  }
  const timeout_ms = target.count('request_timeout') ?? request_timeout_ms;
  const organization = target.text('openai_organization');
  const provider = config.provider(name, {
    adapter: kind.adapter,
    base_url,
    api_key:
      keyOf(target, given, findings) ??
      (target.value('custom_host') === undefined && kind.key_env ? `\${${kind.key_env}}` : undefined),
    ...(organization !== undefined && { headers: { 'openai-organization': organization } }),
    ...(timeout_ms !== undefined && { idle_timeout_ms: timeout_ms, first_token_timeout_ms: timeout_ms }),
  });
  context.defaults.push(defaults);
  return { provider, model };
}

/** The name of what Portkey keeps the key as. */
function vaultName(target: Fields): string | undefined {
  const model = target.fields('override_params').value('model');
  const names = [target.value('virtual_key'), target.value('provider'), model].filter(
    value => typeof value === 'string',
  );
  const [virtual] = names.filter(name => name === target.value('virtual_key') || name.startsWith('@'));
  return virtual?.replace(/^@/, '').replace(/\/.*$/s, '') || undefined;
}

/** The provider by its name, or by what is in the name of the key. */
function vendorOf(target: Fields, vault: string | undefined): string | undefined {
  const provider = target.value('provider');
  if (typeof provider === 'string' && !provider.startsWith('@')) return provider;
  const plain = (text: string) => text.toLowerCase().replaceAll(/[-_]/g, '');
  const known = providerNames.filter(name => vault !== undefined && plain(vault).includes(plain(name)));
  return known.sort((one, other) => other.length - one.length)[0];
}

function keyOf(target: Fields, vault: string | undefined, findings: Findings): Expression | undefined {
  const own = target.text('api_key');
  if (own !== undefined) return own;
  if (vault === undefined || !/^[\x20-\x7e]+$/.test(vault)) return undefined;
  const written = expressionOf(vault);
  if (isVariableAlone(written)) return written;
  const variable = vault
    .toUpperCase()
    .replaceAll(/\W+/g, '_')
    .replace(/^(?=\d)/, 'KEY_');
  findings.check(target.path, `set ${variable} to the key that Portkey keeps as ${vault}`);
  return `\${${variable}}`;
}

function addressOf(target: Fields, adapter: string, usual: Expression | undefined): Expression | undefined {
  const host = target.text('custom_host')?.replace(/\/+$/, '');
  if (host !== undefined) {
    if (!isAddress(host)) return undefined;
    return adapter === 'ollama' && !host.endsWith('/v1') ? `${host}/v1` : host;
  }
  if (adapter === 'azure') {
    const resource =
      target.text('resource_name') ?? target.text('azure_resource_name') ?? '${AZURE_RESOURCE_NAME}';
    return `https://${resource}.openai.azure.com/openai/v1`;
  }
  if (adapter === 'bedrock')
    return `https://bedrock-runtime.${target.text('aws_region') ?? '${AWS_REGION}'}.amazonaws.com/openai/v1`;
  if (adapter !== 'vertex') return usual;
  const location = target.text('vertex_region') ?? '${VERTEX_REGION}';
  return `https://${location}-aiplatform.googleapis.com/v1/projects/${target.text('vertex_project_id') ?? '${VERTEX_PROJECT}'}/locations/${location}/endpoints/openapi`;
}

/** The parameters that a target overrides, as defaults of its model; others are noted. */
export function parametersOf(target: Fields, findings: Findings): ModelDefaults {
  const given = target.fields('override_params');
  for (const name of given.names) {
    const path = [...given.path, name];
    if (Object.hasOwn(defaultNames, name))
      findings.check(path, 'is set where clients leave it out; their own value stays');
    else if (name !== 'model')
      findings.lost(
        path,
        'is not among the defaults of a model; set of the stage request-rewrite sets parameters for all models',
      );
  }
  return defaultsIn(given, findings);
}
