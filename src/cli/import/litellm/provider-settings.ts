import { droppableParameters } from '../../../gateway/upstream/attempt/fit-request.ts';
import { type Expression, isAddress } from '../expression.ts';
import type { Fields } from '../fields.ts';
import type { Findings } from '../findings.ts';
import type { ImportedProvider } from '../imported-config.ts';
import type { Deployment } from './deployment.ts';

/** The provider of a deployment; undefined, with a note, if its address is not known. */
export function providerSettings(deployment: Deployment, findings: Findings): ImportedProvider | undefined {
  const { kind, params, vendor } = deployment;
  const base_url = addressOf(deployment, findings);
  if (base_url === undefined || !isAddress(base_url)) {
    findings.lost([...params.path, 'api_base'], `is needed: where the API of ${vendor} is`);
    return undefined;
  }
  const { adapter } = kind;
  if (adapter === 'bedrock')
    findings.check(
      [...params.path, 'model'],
      'is asked with an API key, and by the chat completions of Bedrock, which do not have all its models: sluice doctor --generate shows it',
    );
  return {
    adapter,
    base_url,
    api_key: keyOf(deployment, base_url),
    headers: headersOf(params, findings),
    drop_parameters: droppedBy(params, findings),
    extra_parameters:
      params.value('allowed_openai_params') === undefined
        ? undefined
        : textsOf(params, 'allowed_openai_params'),
    idle_timeout_ms: params.seconds_ms('timeout'),
    first_token_timeout_ms: params.seconds_ms('stream_timeout'),
    max_concurrent: params.count('max_parallel_requests'),
  };
}

/** A key that the file has, or else the variable that LiteLLM takes it from; none for servers that usually have none. */
function keyOf({ kind, params, vendor }: Deployment, base_url: Expression): Expression | undefined {
  const own = params.text('api_key') ?? params.text('vertex_access_token');
  if (own !== undefined) return own;
  const isElsewhere = vendor === 'openai' && base_url !== kind.base_url;
  return kind.key_env === undefined || isElsewhere ? undefined : `\${${kind.key_env}}`;
}

function addressOf({ kind, params, vendor }: Deployment, findings: Findings): Expression | undefined {
  const written = params.text('api_base') ?? params.text('base_url');
  if (vendor === 'bedrock')
    return `https://bedrock-runtime.${params.text('aws_region_name') ?? '${AWS_REGION}'}.amazonaws.com/openai/v1`;
  if (kind.adapter === 'vertex') return vertexAddress(params);
  if (written === undefined) return vendor === 'azure' ? azureAddress('${AZURE_API_BASE}') : kind.base_url;
  const address = written.replace(/\/+$/, '').replace(/\/chat\/completions$/, '');
  if (!isAddress(address)) {
    findings.lost([...params.path, 'api_base'], 'must be an http:// or https:// address');
    return undefined;
  }
  if (vendor === 'azure') return azureAddress(address);
  // LiteLLM speaks other interfaces of these servers, which begin at their root.
  const isAtRoot = /^ollama|^anthropic$|^gemini$/.test(vendor) && !/\/v1(?:beta\/openai)?$/.test(address);
  if (isAtRoot) return `${address}${vendor === 'gemini' ? '/v1beta/openai' : '/v1'}`;
  return address;
}

const azureAddress = (address: Expression): Expression =>
  `${address.replace(/\/openai(?:\/.*)?$/, '')}/openai/v1`;

function vertexAddress(params: Fields): Expression {
  const location = params.text('vertex_location') ?? '${VERTEXAI_LOCATION}';
  const project = params.text('vertex_project') ?? '${VERTEXAI_PROJECT}';
  const host = location === 'global' ? 'aiplatform' : `${location}-aiplatform`;
  return `https://${host}.googleapis.com/v1/projects/${project}/locations/${location}/endpoints/openapi`;
}

function headersOf(params: Fields, findings: Findings): Readonly<Record<string, Expression>> | undefined {
  const given = params.fields('extra_headers');
  const headers: Record<string, Expression> = {};
  for (const name of given.names) {
    const value = given.text(name);
    if (value === undefined) continue;
    if (/^[\w-]+$/.test(name)) headers[name.toLowerCase()] = value;
    else findings.lost([...given.path, name], 'is no name of a header');
  }
  const organization = params.text('organization');
  if (organization !== undefined) headers['openai-organization'] = organization;
  return Object.keys(headers).length > 0 ? headers : undefined;
}

function droppedBy(params: Fields, findings: Findings): readonly string[] | undefined {
  const wanted = textsOf(params, 'additional_drop_params');
  const known = wanted.filter(name => (droppableParameters as readonly string[]).includes(name));
  for (const name of wanted)
    if (!known.includes(name))
      findings.lost(
        [...params.path, 'additional_drop_params'],
        `${name} is not among drop_parameters of a provider`,
      );
  return known.length > 0 ? known : undefined;
}

const textsOf = (params: Fields, name: string): readonly string[] => [
  ...new Set(params.list(name).filter(value => typeof value === 'string')),
];
