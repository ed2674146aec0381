/** What comes of a sample of `test/fixtures/import`. */
export interface ImportedSample {
  /** Names that clients use, for its wildcards. */
  readonly models?: string;
  /** Adapters by provider. */
  readonly adapters: Readonly<Record<string, string>>;
  /** By model, the upstreams with provider, model, priority, weight and limits, and the models that answer in its place, by why. */
  readonly served: Readonly<Record<string, string>>;
  /** The places of what has no counterpart, one for each name and reason. */
  readonly lost: readonly string[];
}

/** The samples of LiteLLM's configuration, by the name of the file. */
export const liteLlmSamples: Readonly<Record<string, ImportedSample>> = {
  'azure-by-variables': {
    adapters: { azure: 'azure' },
    served: {
      'azure/govchat-embedding': 'azure text-embedding-3-large 1 1',
      'azure/gpt-5.4': 'azure gpt-5.4 1 1',
      'azure/govchat-default': 'azure gpt-5.4 1 1',
    },
    lost: [],
  },
  'bedrock-console': {
    adapters: { bedrock: 'bedrock', 'bedrock-2': 'bedrock' },
    served: {
      'bedrock/bedrock-claude': 'bedrock eu.anthropic.claude-sonnet-4-5-20250929-v1:0 1 1',
      'bedrock/bedrock-claude-haiku': 'bedrock-2 eu.anthropic.claude-haiku-3-5-v1:0 1 1',
    },
    lost: [
      'model_list[0].model_info.pricing',
      'router_settings.enable_load_balancing',
      'general_settings.log_level',
      'general_settings.enable_cors',
      'general_settings.use_langfuse',
      'health_check',
    ],
  },
  'farm-of-ollamas': {
    adapters: { ollama: 'ollama', 'ollama-2': 'ollama', 'ollama-3': 'ollama' },
    served: {
      'ollama/local-chat':
        'ollama qwen3.5:0.8b 1 10 [10 rpm, 1000 tpm], ollama-2 qwen3.5:0.8b 1 10 [10 rpm, 1000 tpm], ollama-3 qwen3.5:0.8b 1 20 [20 rpm, 1000 tpm]',
    },
    lost: ['router_settings.routing_strategy', 'cache_config'],
  },
  'many-by-one-router': {
    adapters: { openai: 'openai', gemini: 'gemini', openrouter: 'openrouter', 'openai-2': 'openai' },
    served: {
      'openai/default': 'openai deepseek/deepseek-v4-flash 1 1 [50 rpm, - tpm]',
      'gemini/smart':
        'gemini gemini-3-flash-preview 1 60 [60 rpm, - tpm], openai google/gemini-3-flash-preview 1 30 [30 rpm, - tpm] | unavailable: openai/fast-or openai/cheap | context_length: openai/fast-or openai/cheap | content_filter: openai/fast-or openai/cheap',
      'openai/fast-or': 'openai google/gemini-3-flash-preview 1 1 [30 rpm, - tpm]',
      'openai/cheap': 'openai openai/gpt-5.4-mini 1 1 [30 rpm, - tpm]',
      'openrouter/free-gpt-oss': 'openrouter openai/gpt-oss-120b:free 1 1 [20 rpm, - tpm]',
      'openai/local-heavy':
        'openai-2 qwen2.5-coder-7b-instruct 1 1 | unavailable: gemini/smart openai/fast-or openai/cheap | context_length: gemini/smart openai/fast-or openai/cheap | content_filter: gemini/smart openai/fast-or openai/cheap',
      'openai/local-embed': 'openai-2 text-embedding-nomic-embed-text-v1.5@q4_k_m 1 1',
    },
    lost: [
      'router_settings.routing_strategy',
      'router_settings.retry_after',
      'general_settings.max_budget',
      'general_settings.budget_duration',
      'litellm_settings.success_callback',
    ],
  },
  'names-in-words': {
    adapters: { openrouter: 'openrouter', openai: 'openai', bedrock: 'bedrock' },
    served: {
      'openrouter/OpenRouter':
        'openrouter openai/gpt-oss-120b:free 1 1, openrouter z-ai/glm-4.5-air:free 1 1',
      'openai/Qwen3.5-4B-Thinking': 'openai Qwen3.5-4B-UD-Q4_K_XL [Thinking · General] 1 1',
      'bedrock/Amazon-Nova-Pro': 'bedrock apac.amazon.nova-pro-v1:0 1 1',
    },
    lost: ['general_settings.read_timeout', 'router_settings.routing_strategy'],
  },
  'ollama-with-prices': {
    adapters: { 'ollama-chat': 'ollama' },
    served: {
      'ollama-chat/llama3.2': 'ollama-chat llama3.2 1 1',
      'ollama-chat/mistral': 'ollama-chat mistral 1 1',
    },
    lost: ['model_list[0].model_info.input_cost_per_second'],
  },
  'one-model-at-three': {
    adapters: { 'together-ai': 'together', groq: 'groq', openrouter: 'openrouter', openai: 'openai' },
    served: {
      'together/llama-4-maverick': 'together-ai meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8 1 1',
      'groq/llama-4-maverick':
        'groq meta-llama/llama-4-maverick-17b-128e-instruct 1 1 | unavailable: openrouter/llama-4-maverick together/llama-4-maverick | context_length: openrouter/llama-4-maverick together/llama-4-maverick | content_filter: openrouter/llama-4-maverick together/llama-4-maverick',
      'openrouter/llama-4-maverick': 'openrouter meta-llama/llama-4-maverick 1 1',
      'openai/gpt-4o': 'openai gpt-4o 1 1',
      'openrouter/default':
        'openrouter meta-llama/llama-4-maverick 1 1 | unavailable: groq/llama-4-maverick openrouter/llama-4-maverick together/llama-4-maverick | context_length: groq/llama-4-maverick openrouter/llama-4-maverick together/llama-4-maverick | content_filter: groq/llama-4-maverick openrouter/llama-4-maverick together/llama-4-maverick',
    },
    lost: ['litellm_settings.callbacks', 'router_settings.retry_after', 'general_settings.custom_auth'],
  },
  'sample-of-litellm': {
    models: 'gpt-4o-mini,anthropic/claude-sonnet-5',
    adapters: {
      openai: 'openai',
      azure: 'azure',
      'openai-2': 'openai',
      'openai-3': 'openai',
      'openai-4': 'openai',
      anthropic: 'anthropic',
    },
    served: {
      'openai/gpt-3.5-turbo-end-user-test': 'openai gpt-3.5-turbo 1 1, azure chatgpt-v-2 1 1',
      'openai/gpt-3.5-turbo-large': 'openai-2 gpt-3.5-turbo-1106 1 1 [480 rpm, - tpm]',
      'azure/text-embedding-ada-002': 'azure azure-embedding-model 1 1',
      'openai/openai-dall-e-3': 'openai dall-e-3 1 1',
      'openai/fake-openai-endpoint-3':
        'openai-3 my-fake-model 1 1000 [1000 rpm, - tpm], openai-3 my-fake-model-2 1 1000 [1000 rpm, - tpm]',
      'openai/bad-model': 'openai-4 bad-model 1 1',
      'openai/gpt-4o-mini': 'openai gpt-4o-mini 1 1',
      'openai/gpt-3.5-turbo': 'openai gpt-3.5-turbo 1 1 | context_length: openai/gpt-3.5-turbo-large',
      'anthropic/claude-sonnet-5': 'anthropic claude-sonnet-5 1 1',
      'text-completion-openai/gpt-instruct': 'openai gpt-3.5-turbo-instruct 1 1',
    },
    lost: [
      'model_list[0].litellm_params.region_name',
      'model_list[3].litellm_params.model',
      'model_list[5].litellm_params.model',
      'model_list[9].litellm_params.mock_timeout',
      'litellm_settings.default_team_settings',
      'finetune_settings',
      'router_settings.routing_strategy',
      'general_settings.store_model_in_db',
      'general_settings.pass_through_endpoints',
    ],
  },
  seminar: {
    adapters: {
      openai: 'openai',
      anthropic: 'anthropic',
      gemini: 'gemini',
      mistral: 'mistral',
      ollama: 'ollama',
    },
    served: {
      'openai/o3': 'openai o3 1 1',
      'anthropic/claude-4-6-sonnet': 'anthropic claude-sonnet-4-6 1 1',
      'gemini/gemini-3.5-flash': 'gemini gemini-3.5-flash 1 1',
      'mistral/codestral': 'mistral codestral-latest 1 1',
      'ollama/llama3.2': 'ollama llama3.2 1 1',
    },
    lost: [
      'model_list[1].litellm_params.thinking',
      'model_list[1].litellm_params.merge_reasoning_content_in_choices',
      'litellm_settings.extra_spend_tag_headers',
      'litellm_settings.callbacks',
      'general_settings.store_model_in_db',
      'general_settings.user_header_mappings',
    ],
  },
  'wildcard-with-cache': {
    models: 'openai/gpt-4o',
    adapters: { openai: 'openai' },
    served: { 'openai/gpt-4o': 'openai gpt-4o 1 1' },
    lost: ['general_settings.debug', 'files_settings'],
  },
};

/**
 * The configs of Portkey, by the name of the file: in our words after r-huijts/LibreChat, PORTKEY_MODERN_CONFIG.md (conditions), and two
 * public ones of load balancing with a cache, and of a chain from a server of one's own to Anthropic; read 2026-11-27.
 */
export const portkeySamples: Readonly<Record<string, ImportedSample>> = {
  'by-plan': {
    models: 'gpt-4.1',
    adapters: { openrouter: 'openrouter', 'azure-openai': 'azure' },
    served: {
      'openrouter/gemini-image': 'openrouter google/gemini-2.5-flash-image 1 1',
      'azure/gpt-4o': 'azure-openai gpt-4o 1 1',
      'azure/gpt-4o-mini': 'azure-openai gpt-4o-mini 1 1',
      'azure/gpt-4.1': 'azure-openai gpt-4.1 1 1',
    },
    lost: ['strategy.conditions[2]'],
  },
  'cheapest-first': {
    adapters: { ollama: 'ollama', groq: 'groq', google: 'gemini', openai: 'openai', anthropic: 'anthropic' },
    served: {
      'ollama/cheapest-first':
        'ollama gpt-oss:20b 1 1, groq llama-3.3-70b-versatile 2 0.7, google gemini-2.5-flash 2 0.3, openai gpt-4o-mini 3 1, anthropic claude-haiku-4-5 4 1',
    },
    lost: ['strategy.on_status_codes', 'after_request_hooks'],
  },
  'support-chat': {
    adapters: { cohere: 'openai', openai: 'openai' },
    served: { 'openai/support-chat': 'cohere command-r 1 0.5, openai gpt-4o-mini 1 0.5' },
    lost: ['retry.on_status_codes', '(top level)'],
  },
};
