import type { FieldRule } from '../fields.ts';
import { defaultNames } from '../model-defaults.ts';

const defaults =
  'is not among the defaults of a model; set of the stage request-rewrite sets parameters for all models';
const aws = 'Bedrock is asked with an API key here: AWS_BEARER_TOKEN_BEDROCK';
const gcp =
  'Vertex AI is asked with an access token here: write it to a file that api_key_file names, and renew it there';

/** What is done with each field of `litellm_params`; those that are null are read elsewhere, or mean nothing here. */
export const paramRules: Readonly<Record<string, FieldRule>> = {
  ...Object.fromEntries(Object.keys(defaultNames).map(name => [name, null])),
  model: null,
  custom_llm_provider: null,
  api_base: null,
  base_url: null,
  api_key: null,
  // The API without a version is asked.
  api_version: null,
  organization: null,
  extra_headers: null,
  timeout: null,
  stream_timeout: null,
  max_parallel_requests: null,
  max_retries: null,
  num_retries: null,
  order: null,
  weight: null,
  drop_params: null,
  additional_drop_params: null,
  allowed_openai_params: null,
  input_cost_per_token: null,
  output_cost_per_token: null,
  cache_read_input_token_cost: null,
  cache_creation_input_token_cost: null,
  input_cost_per_request: null,
  aws_region_name: null,
  vertex_project: null,
  vertex_location: null,
  vertex_access_token: null,
  rpm: null,
  tpm: null,
  aws_access_key_id: aws,
  aws_secret_access_key: aws,
  aws_session_token: aws,
  aws_session_name: aws,
  aws_role_name: aws,
  aws_profile_name: aws,
  aws_web_identity_token: aws,
  aws_bedrock_runtime_endpoint: aws,
  vertex_credentials: gcp,
  azure_ad_token: 'write the token as api_key, or into a file that api_key_file names',
  tenant_id: 'Azure is asked with a key or a token of Entra ID: write it into a file that api_key_file names',
  client_id: 'Azure is asked with a key or a token of Entra ID: write it into a file that api_key_file names',
  client_secret:
    'Azure is asked with a key or a token of Entra ID: write it into a file that api_key_file names',
  litellm_credential_name: 'credentials are written into the provider: api_key',
  top_k: defaults,
  response_format: defaults,
  reasoning_effort: 'set reasoning_effort.default of the model',
  thinking: 'set reasoning_effort.default of the model',
  extra_body: defaults,
  user: defaults,
  max_budget: 'budgets are those of accounts and keys here',
  budget_duration: 'budgets are those of accounts and keys here',
  tags: 'models are chosen by their names here, not by tags of requests',
  cache_control_injection_points:
    'prompt_caching of the adapter anthropic caches prompts that clients do not mark',
  merge_reasoning_content_in_choices:
    'reasoning stands beside the answer: chat_completions.reasoning_key says under which name',
  use_in_pass_through: null,
  mock_response: 'sluice simulate is a server for tests',
};
