import { isObject, textsIn } from '../../../common/json-object.ts';
import { type FieldRule, Fields } from '../fields.ts';
import type { Findings, Path } from '../findings.ts';

/** A config of Portkey, or a target in one: its fields by their names in snake case, which may be written in camel case. */
export function configNode(value: unknown, path: Path, findings: Findings): Fields {
  if (!isObject(value)) return new Fields(value, path, findings);
  const named = Object.entries(value).map(([name, field]) => [snakeCase(name), field]);
  return new Fields(Object.fromEntries(named), path, findings);
}

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`);

/** The targets of a config. */
export const targetsOf = (node: Fields, findings: Findings): readonly Fields[] =>
  node.list('targets').map((target, at) => configNode(target, [...node.path, 'targets', at], findings));

/** How a config chooses among its targets; `single` without any. */
export function modeOf(node: Fields): string {
  const mode = node.fields('strategy').value('mode');
  return typeof mode === 'string' && node.value('targets') !== undefined ? mode : 'single';
}

/** The target that a condition names, by its name or its number. */
export function namedTarget(node: Fields, name: unknown, findings: Findings): Fields | undefined {
  const targets = targetsOf(node, findings);
  return targets.find(
    target => name !== undefined && (target.value('name') === name || target.value('id') === name),
  );
}

/** The models that a condition is on; undefined if it is on anything else. */
export function modelsIn(query: unknown): readonly string[] | undefined {
  if (!isObject(query)) return undefined;
  const [[field, test] = [], ...others] = Object.entries(query);
  if (field !== 'params.model' || others.length > 0) return undefined;
  if (typeof test === 'string') return [test];
  const [[operator, value] = [], ...further] = Object.entries(isObject(test) ? test : {});
  if (further.length > 0) return undefined;
  if (operator === '$eq' && typeof value === 'string') return [value];
  return operator === '$in' && textsIn(value).length > 0 ? textsIn(value) : undefined;
}

const guardrails = 'the stage redact masks texts by patterns; others are stages of your own';
const failures =
  'the next upstream is asked after 402, 408, 409, 429, 5xx, and replies that break off or never come';

/** What is done with each field of a config or target; those that are null are read elsewhere. */
export const nodeRules: Readonly<Record<string, FieldRule>> = {
  strategy: null,
  targets: null,
  name: null,
  id: null,
  provider: null,
  virtual_key: null,
  api_key: null,
  weight: null,
  override_params: null,
  retry: null,
  cache: null,
  request_timeout: null,
  custom_host: null,
  resource_name: null,
  deployment_id: null,
  // The API without a version is asked.
  api_version: null,
  azure_resource_name: null,
  azure_deployment_id: null,
  azure_api_version: null,
  azure_model_name: null,
  vertex_project_id: null,
  vertex_region: null,
  aws_region: null,
  openai_organization: null,
  on_status_codes: failures,
  forward_headers: 'headers of clients stay here; a passthrough has forward_headers',
  input_guardrails: guardrails,
  output_guardrails: guardrails,
  before_request_hooks: guardrails,
  after_request_hooks: guardrails,
  default_input_guardrails: guardrails,
  default_output_guardrails: guardrails,
  strict_open_ai_compliance: 'replies have the form of the endpoint that was asked',
  cache_force_refresh: 'clients leave the cache out with cache-control: no-cache',
  metadata: 'the account of the key says whose a request is',
};

/** The same of `strategy`, `retry` and `cache`. */
export const partRules: Readonly<Record<string, Readonly<Record<string, FieldRule>>>> = {
  strategy: { mode: null, conditions: null, default: null, on_status_codes: failures },
  retry: {
    attempts: null,
    count: null,
    on_status_codes: failures,
    use_retry_after_headers: null,
    use_retry_after_header: null,
  },
  cache: { mode: null, max_age: null },
};
