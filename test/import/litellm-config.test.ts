import t from 'tap'
import { readDocument } from '../../lib/config/config-document.ts'
import { printDocument } from '../../lib/config/print-document.ts'
import { readSettings } from '../../lib/config/read-settings.ts'
import { importLitellmConfig } from '../../lib/import/litellm-config.ts'
import type { ImportedConfig } from '../../lib/import/imported-config.ts'
import type { Settings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

function imported (yaml: string, env: Readonly<Record<string, string>> = {}): ImportedConfig {
  return importLitellmConfig(readDocument(yaml, 'config.yaml').value, { env })
}

function noted ({ rows }: ImportedConfig): Record<string, string> {
  return Object.fromEntries(rows.map(({ path, verdict, note }) => [path, `${verdict}: ${note}`]))
}

/** Loads the imported configuration as the gateway does, with a value for every variable. */
function settingsOf (t: Test, { config }: ImportedConfig): Settings {
  const text = printDocument(config)
  const cwd = t.testdir({ 'headgate.yaml': text })
  const env = Object.fromEntries(
    [...text.matchAll(/env:(\w+)/g)].map(([, name = '']) => [name, `value of ${name}`])
  )
  return readSettings({ env, cwd }).settings
}

function unsupported ({ rows }: ImportedConfig): string[] {
  return rows.filter(({ verdict }) => verdict === 'unsupported').map(({ path }) => path)
}

/** Modelled on files that teams run; each is imported completely. */
const complete: Readonly<Record<string, string>> = {
  'one model': `
model_list:
  - model_name: gpt-4o
    litellm_params: { model: openai/gpt-4o, api_key: os.environ/OPENAI_API_KEY }
`,
  'a local server': `
model_list:
  - model_name: llama3
    litellm_params: { model: ollama/llama3, api_base: http://ollama:11434, rpm: 30 }
  - model_name: qwen
    litellm_params: { model: hosted_vllm/Qwen/Qwen3-32B, api_base: "http://vllm:8000/v1", api_key: none }
`,
  'regions of Azure': `
model_list:
  - model_name: gpt-4o
    litellm_params: { model: azure/gpt4o-eu, api_base: https://eu.openai.azure.com, api_version: "2024-10-21", api_key: os.environ/AZURE_EU, rpm: 900 }
    model_info: { base_model: azure/gpt-4o, mode: chat }
  - model_name: gpt-4o
    litellm_params: { model: azure/gpt4o-us, api_base: https://us.openai.azure.com/, api_version: "2024-10-21", api_key: os.environ/AZURE_US, rpm: 100 }
    model_info: { base_model: azure/gpt-4o }
router_settings: { routing_strategy: simple-shuffle, num_retries: 2, timeout: 30, enable_pre_call_checks: true, allowed_fails: 3, cooldown_time: 30 }
`,
  'everything of some providers': `
model_list:
  - { model_name: "anthropic/*", litellm_params: { model: "anthropic/*", api_key: os.environ/ANTHROPIC_API_KEY } }
  - { model_name: "gemini/*", litellm_params: { model: "gemini/*", api_key: os.environ/GEMINI_API_KEY } }
  - { model_name: "*", litellm_params: { model: "openai/*", api_key: os.environ/OPENAI_API_KEY } }
litellm_settings: { drop_params: true, set_verbose: false, json_logs: true }
`,
  'fallbacks and aliases': `
model_list:
  - { model_name: big, litellm_params: { model: anthropic/claude-opus-4-5, api_key: os.environ/ANTHROPIC_API_KEY } }
  - { model_name: small, litellm_params: { model: openai/gpt-5-mini, api_key: os.environ/OPENAI_API_KEY, temperature: 0, max_tokens: 500 } }
  - { model_name: long, litellm_params: { model: gemini/gemini-2.5-pro, api_key: os.environ/GEMINI_API_KEY } }
litellm_settings:
  num_retries: 3
  request_timeout: 600
  fallbacks: [{ big: [small] }]
  context_window_fallbacks: [{ big: [long] }, { small: [long] }]
  default_fallbacks: [small]
router_settings:
  model_group_alias: { gpt-4: big, "gpt-3.5-turbo": { model: small, hidden: true } }
`,
  'credentials and several accounts': `
credential_list:
  - credential_name: main
    credential_values: { api_key: os.environ/OPENAI_MAIN, organization: org-1 }
    credential_info: { description: ours }
model_list:
  - { model_name: gpt-5, litellm_params: { model: openai/gpt-5, litellm_credential_name: main, weight: 9 } }
  - { model_name: gpt-5, litellm_params: { model: openai/gpt-5, api_key: os.environ/OPENAI_OTHER, weight: 1, stream_timeout: 5 } }
  - { model_name: first-then-second, litellm_params: { model: openai/gpt-5, api_key: os.environ/OPENAI_OTHER, order: 2 } }
  - { model_name: first-then-second, litellm_params: { model: openai/gpt-5, litellm_credential_name: main, order: 1 } }
environment_variables: { OPENAI_OTHER: sk-in-clear, PROXY_KEY: os.environ/PROXY_KEY }
`,
  'other services with the API of OpenAI': `
model_list:
  - { model_name: sonar, litellm_params: { model: perplexity/sonar, api_key: os.environ/PERPLEXITYAI_API_KEY } }
  - { model_name: fast, litellm_params: { model: cerebras/llama3.1-8b } }
  - { model_name: mixtral, litellm_params: { model: together_ai/mistralai/Mixtral-8x7B-Instruct-v0.1 } }
  - { model_name: router, litellm_params: { model: openrouter/anthropic/claude-sonnet-4.5, extra_headers: { X-Title: ours } } }
  - model_name: own
    litellm_params: { model: openai/own-model, api_base: https://llm.example.com/v1, api_key: sk-own, input_cost_per_token: 0.0000005, output_cost_per_token: 0.0000015 }
    model_info: { max_input_tokens: 32000, max_output_tokens: 4096, supports_function_calling: true, supports_vision: false, team: search }
`,
  'embeddings, speech and images': `
model_list:
  - { model_name: embed, litellm_params: { model: openai/text-embedding-3-small }, model_info: { mode: embedding } }
  - { model_name: whisper, litellm_params: { model: whisper-1 }, model_info: { mode: audio_transcription } }
  - { model_name: dalle, litellm_params: { model: dall-e-3 }, model_info: { mode: image_generation } }
  - { model_name: tts, litellm_params: { model: openai/tts-1 }, model_info: { mode: audio_speech } }
`,
  'tool servers': `
model_list:
  - { model_name: gpt-4o, litellm_params: { model: openai/gpt-4o } }
mcp_servers:
  deepwiki: { url: https://mcp.deepwiki.com/mcp, transport: http }
  "my files": { command: npx, args: [-y, server-filesystem, /data], env: { TOKEN: os.environ/FILES_TOKEN }, transport: stdio }
  github: { url: https://api.githubcopilot.com/mcp, auth_type: bearer_token, authentication_token: os.environ/GITHUB_TOKEN, static_headers: { X-Team: a } }
`,
  'a whole proxy': `
model_list:
  - { model_name: gpt-4o-mini, litellm_params: { model: openai/gpt-4o-mini, api_key: os.environ/OPENAI_API_KEY, tpm: 100000 } }
litellm_settings:
  success_callback: [prometheus, langfuse]
  failure_callback: sentry
  cache: true
  cache_params: { type: redis, host: os.environ/REDIS_HOST, ttl: 600 }
  turn_off_message_logging: true
router_settings: { routing_strategy: usage-based-routing-v2, redis_host: os.environ/REDIS_HOST, redis_port: 6379, redis_password: os.environ/REDIS_PASSWORD }
guardrails:
  - { guardrail_name: pii, litellm_params: { guardrail: presidio, mode: pre_call } }
general_settings:
  master_key: os.environ/LITELLM_MASTER_KEY
  database_url: os.environ/DATABASE_URL
  store_model_in_db: true
  alerting: [slack]
  proxy_batch_write_at: 60
`
}

for (const [name, yaml] of Object.entries(complete)) {
  t.test(`${name}: every entry is explained, none is lost, and the result is valid`, async t => {
    const made = imported(yaml)
    t.same(unsupported(made), [])
    t.ok(made.rows.length > 0)
    t.ok(settingsOf(t, made).providers.length > 0)
  })
}

/**
 * In the manner of files that people show when they ask for help, with the paths of what has no counterpart.
 */
const posted: ReadonlyArray<readonly [name: string, yaml: string, unsupported?: readonly string[]]> = [
  [
    'a chat page with many small providers',
    `
model_list:
  - { model_name: gpt-3.5, litellm_params: { model: openai/gpt-4o-mini, api_base: https://api.openai.com/v1, api_key: os.environ/OPENAI_API_KEY } }
  - { model_name: mistral-small, litellm_params: { model: mistral/mistral-small-latest, api_base: https://api.mistral.ai/v1, api_key: os.environ/MISTRAL_API_KEY } }
  - { model_name: groq-llama, litellm_params: { model: groq/llama-3.3-70b-versatile, api_key: os.environ/GROQ_API_KEY } }
  - { model_name: gemini-flash, litellm_params: { model: gemini/gemini-2.5-flash, api_key: os.environ/GEMINI_API_KEY } }
`
  ],
  [
    'names without a provider',
    `
model_list:
  - { model_name: claude, litellm_params: { model: claude-sonnet-4-5, api_key: os.environ/ANTHROPIC_API_KEY } }
  - { model_name: mini, litellm_params: { model: gpt-4o-mini } }
  - { model_name: other, litellm_params: { model: j2-ultra, api_key: os.environ/AI21_API_KEY } }
`,
    ['model_list[2]']
  ],
  [
    'local models behind several servers',
    `
model_list:
  - { model_name: hermes, litellm_params: { model: "ollama/hermes3:8b", api_base: "http://localhost:11434" } }
  - { model_name: coder, litellm_params: { model: ollama_chat/qwen3-coder, api_base: "http://localhost:11434", keep_alive: 8m } }
  - { model_name: big, litellm_params: { model: openai/qwen3-235b, api_base: "http://box:8081/v1", api_key: none, timeout: 1200, max_retries: 0 } }
  - { model_name: kimi, litellm_params: { model: hosted_vllm/moonshotai/Kimi-K2, api_base: "http://box:8000/v1", stream_timeout: 300 } }
litellm_settings: { drop_params: true, request_timeout: 600 }
`,
    ['model_list[1].litellm_params.keep_alive']
  ],
  [
    'one model of Azure in three regions',
    `
model_list:
  - { model_name: gpt-turbo, litellm_params: { model: azure/small-eu, api_base: https://eu.openai.azure.com/, api_version: 2025-01-01-preview, api_key: key-in-clear-1, rpm: 6 } }
  - { model_name: gpt-turbo, litellm_params: { model: azure/small-ca, api_base: https://ca.openai.azure.com/, api_version: 2025-01-01-preview, api_key: key-in-clear-2, rpm: 6 } }
  - { model_name: gpt-turbo, litellm_params: { model: azure/large-fr, api_base: https://fr.openai.azure.com/, api_version: 2025-01-01-preview, api_key: key-in-clear-3, rpm: 1440 } }
router_settings:
  routing_strategy: usage-based-routing-v2
  model_group_alias: { gpt-4: gpt-turbo }
  redis_host: redis
  redis_port: 6379
  redis_password: in-clear
  num_retries: 2
  timeout: 30
`
  ],
  [
    'claude at three clouds',
    `
model_list:
  - { model_name: sonnet, litellm_params: { model: anthropic/claude-sonnet-4-5, api_key: os.environ/ANTHROPIC_API_KEY } }
  - { model_name: sonnet, litellm_params: { model: "bedrock/anthropic.claude-3-5-sonnet-20241022-v2:0", aws_region_name: us-west-2, aws_access_key_id: os.environ/AWS_ACCESS_KEY_ID, aws_secret_access_key: os.environ/AWS_SECRET_ACCESS_KEY } }
  - { model_name: sonnet, litellm_params: { model: vertex_ai/claude-sonnet-4-5, vertex_project: os.environ/PROJECT, vertex_location: us-east5 } }
router_settings: { routing_strategy: simple-shuffle, enable_pre_call_checks: true }
`,
    ['model_list[1]', 'model_list[2]']
  ],
  [
    'an agent with a model of its own and a fallback',
    `
model_list:
  - { model_name: qwen-local, litellm_params: { model: openai/Qwen/Qwen2.5-72B-Instruct-AWQ, api_base: "http://localhost:8000/v1", api_key: a-secret } }
  - { model_name: gpt-4-fallback, litellm_params: { model: gpt-4-turbo, api_key: os.environ/OPENAI_API_KEY } }
litellm_settings: { fallbacks: [{ qwen-local: [gpt-4-fallback] }], allowed_fails: 3, cooldown_time: 30 }
router_settings: { model_group_alias: { gpt-4o: qwen-local } }
`
  ],
  [
    'what Claude Code asks for',
    `
model_list:
  - { model_name: "claude-*", litellm_params: { model: "anthropic/claude-*", api_key: os.environ/ANTHROPIC_API_KEY } }
  - { model_name: claude-haiku-4-5, litellm_params: { model: openrouter/qwen/qwen3-coder, api_key: os.environ/OPENROUTER_API_KEY, extra_headers: { HTTP-Referer: "https://example.com" } } }
litellm_settings: { drop_params: true, modify_params: true, forward_client_headers_to_llm_api: true }
general_settings: { master_key: os.environ/LITELLM_MASTER_KEY, forward_client_headers_to_llm_api: true }
`,
    [
      'general_settings.forward_client_headers_to_llm_api',
      'litellm_settings.forward_client_headers_to_llm_api'
    ]
  ],
  [
    'thinking, and what to leave out',
    `
model_list:
  - model_name: thinker
    litellm_params: { model: anthropic/claude-sonnet-4-5, api_key: os.environ/ANTHROPIC_API_KEY, thinking: { type: enabled, budget_tokens: 4096 }, additional_drop_params: [temperature], reasoning_effort: high }
    model_info: { supports_reasoning: true, mode: chat, max_output_tokens: 64000 }
litellm_settings: { merge_reasoning_content_in_choices: true }
`,
    [
      'litellm_settings.merge_reasoning_content_in_choices',
      'model_list[0].litellm_params.additional_drop_params',
      'model_list[0].litellm_params.thinking'
    ]
  ],
  [
    'callbacks of all sorts',
    `
model_list: [{ model_name: m, litellm_params: { model: openai/gpt-4o } }]
litellm_settings:
  callbacks: [custom_callbacks.proxy_handler_instance, langfuse_otel, prometheus]
  success_callback: ["langfuse", "s3"]
  failure_callback: ["sentry"]
  s3_callback_params: { s3_bucket_name: logs, s3_region_name: eu-west-1 }
  langfuse_default_tags: [cache_hit]
environment_variables: { LANGFUSE_PUBLIC_KEY: pk-lf-in-clear, LANGFUSE_SECRET_KEY: sk-lf-in-clear, LANGFUSE_HOST: "https://langfuse.example" }
`
  ],
  [
    'traces by OpenTelemetry',
    `
model_list: [{ model_name: m, litellm_params: { model: openai/gpt-4o } }]
litellm_settings: { callbacks: [otel] }
environment_variables: { OTEL_EXPORTER: otlp_http, OTEL_ENDPOINT: "http://collector:4318/v1/traces", OTEL_HEADERS: "Authorization=Bearer in-clear" }
`
  ],
  [
    'a cache in memory',
    `
model_list: [{ model_name: m, litellm_params: { model: openai/gpt-4o } }]
litellm_settings: { cache: true, cache_params: { type: local, ttl: 60, mode: default_off, supported_call_types: [acompletion, aembedding] } }
`
  ],
  [
    'a cache by meaning',
    `
model_list: [{ model_name: m, litellm_params: { model: openai/gpt-4o } }]
litellm_settings: { cache: true, cache_params: { type: qdrant-semantic, qdrant_semantic_cache_embedding_model: embed, similarity_threshold: 0.8 } }
`,
    ['litellm_settings.cache', 'litellm_settings.cache_params']
  ],
  [
    'guardrails that are guards',
    `
model_list: [{ model_name: m, litellm_params: { model: openai/gpt-4o, api_key: os.environ/OPENAI_API_KEY } }]
guardrails:
  - { guardrail_name: pii, litellm_params: { guardrail: presidio, mode: [pre_call, post_call], default_on: true, presidio_analyzer_api_base: "http://analyzer:3000", presidio_anonymizer_api_base: "http://anonymizer:3000/", pii_entities_config: { EMAIL_ADDRESS: MASK, CREDIT_CARD: BLOCK } } }
  - { guardrail_name: Moderated, litellm_params: { guardrail: openai_moderation, mode: during_call, api_key: os.environ/OPENAI_API_KEY } }
  - { guardrail_name: own-service, litellm_params: { guardrail: generic_guardrail_api, mode: pre_call, api_base: "http://guard:8000", api_key: in-clear, unreachable_fallback: fail_open } }
  - { guardrail_name: words, litellm_params: { guardrail: litellm_content_filter, mode: pre_call, patterns: [{ pattern_type: prebuilt, pattern_name: email, action: MASK }, { pattern_type: regex, name: ticket, pattern: "PROJ-[0-9]{1,6}", action: BLOCK }], blocked_words: [{ keyword: "top secret", action: BLOCK }] } }
`
  ],
  [
    'guardrails that are services of others',
    `
model_list: [{ model_name: m, litellm_params: { model: openai/gpt-4o } }]
guardrails:
  - { guardrail_name: lakera, litellm_params: { guardrail: lakera_v2, mode: during_call, api_key: os.environ/LAKERA_API_KEY } }
  - { guardrail_name: aws, litellm_params: { guardrail: bedrock, mode: pre_call, guardrailIdentifier: ff6ujrregl1q, guardrailVersion: DRAFT } }
  - { guardrail_name: python, litellm_params: { guardrail: custom_guardrail.myCustomGuardrail, mode: pre_call } }
  - { guardrail_name: logged, litellm_params: { guardrail: presidio, mode: logging_only } }
`
  ],
  [
    'a team with a database',
    `
model_list: [{ model_name: gpt-4o, litellm_params: { model: openai/gpt-4o, api_key: os.environ/OPENAI_API_KEY } }]
general_settings:
  master_key: sk-1234
  database_url: "postgresql://llmproxy:in-clear@db:5432/litellm"
  database_connection_pool_limit: 10
  store_model_in_db: true
  store_prompts_in_spend_logs: true
  maximum_spend_logs_retention_period: 30d
  disable_spend_logs: false
  allow_requests_on_db_unavailable: true
  alerting_threshold: 300
  proxy_budget_rescheduler_min_time: 60
litellm_settings: { max_budget: 100, budget_duration: 30d, default_internal_user_params: { max_budget: 1 }, upperbound_key_generate_params: { max_budget: 100, duration: 30d } }
`,
    ['litellm_settings.max_budget']
  ],
  [
    'policies of retries',
    `
model_list: [{ model_name: m, litellm_params: { model: openai/gpt-4o } }, { model_name: n, litellm_params: { model: openai/gpt-4o-mini } }]
router_settings:
  retry_policy: { AuthenticationErrorRetries: 0, TimeoutErrorRetries: 3 }
  allowed_fails_policy: { RateLimitErrorAllowedFails: 10000 }
  model_group_retry_policy: { m: { TimeoutErrorRetries: 0 } }
  fallbacks: [{ m: [n] }]
  max_fallbacks: 3
  disable_cooldowns: false
`,
    ['router_settings.model_group_retry_policy']
  ],
  [
    'one aliases list, and hidden names',
    `
model_list:
  - { model_name: local, litellm_params: { model: ollama/llama3.1, api_base: "http://ollama:11434" } }
  - { model_name: cloud, litellm_params: { model: openai/gpt-4o } }
router_settings: { model_group_alias: { agent: [local, cloud], old-name: { model: cloud, hidden: true } } }
`,
    ['router_settings.model_group_alias.agent']
  ],
  [
    'budgets of providers and tags',
    `
model_list:
  - { model_name: m, litellm_params: { model: openai/gpt-4o, tags: [paid], max_budget: 10, budget_duration: 1d } }
  - { model_name: m, litellm_params: { model: openai/gpt-4o-mini, tags: [free] } }
router_settings: { enable_tag_filtering: true, provider_budget_config: { openai: { budget_limit: 10, time_period: 1d } } }
`,
    [
      'model_list[0].litellm_params.tags',
      'model_list[1].litellm_params.tags',
      'router_settings.enable_tag_filtering',
      'router_settings.provider_budget_config'
    ]
  ],
  [
    'an endpoint for load tests',
    `
model_list: [{ model_name: fake-openai-endpoint, litellm_params: { model: openai/fake, api_key: fake-key, api_base: https://load.example.com/ } }]
general_settings: { master_key: os.environ/LITELLM_MASTER_KEY, set_verbose: false, json_logs: true }
litellm_settings: { num_workers: 4, turn_off_message_logging: true, suppress_debug_info: true }
`
  ],
  [
    'pass-through, sign-in and health',
    `
model_list: [{ model_name: m, litellm_params: { model: openai/gpt-4o }, model_info: { health_check_model: openai/gpt-4o-mini, disable_background_health_check: true } }]
general_settings:
  pass_through_endpoints: [{ path: /v1/rerank, target: https://api.cohere.com/v1/rerank, headers: { Authorization: os.environ/COHERE_API_KEY } }]
  enable_jwt_auth: true
  background_health_checks: true
  health_check_interval: 300
  ui_access_mode: admin_only
  allowed_ips: [10.0.0.1]
`,
    [
      'general_settings.allowed_ips',
      'general_settings.enable_jwt_auth',
      'general_settings.pass_through_endpoints'
    ]
  ]
]

for (const [name, yaml, expected = []] of posted) {
  t.test(`posted: ${name}`, async t => {
    const made = imported(yaml)
    t.same(unsupported(made).toSorted(), expected)
    t.same(made.rows.filter(({ note }) => note === 'no counterpart'), [], 'nothing is unexplained')
    t.notMatch(JSON.stringify([made.config, made.rows]), /in-clear|key-in|a-secret/)
    t.ok(settingsOf(t, made).providers.length > 0)
  })
}

t.test('thirty configurations are imported', async t => {
  t.ok(Object.keys(complete).length + posted.length >= 30)
})

t.test('entries without a counterpart are named, and the rest is imported', async t => {
  const made = imported(`
model_list:
  - { model_name: claude, litellm_params: { model: bedrock/anthropic.claude-v2, aws_region_name: us-east-1 } }
  - { model_name: mine, litellm_params: { model: something } }
  - { model_name: gpt, litellm_params: { model: openai/gpt-4o, mock_response: hi } }
  - { model_name: "x/*", litellm_params: { model: "openai/*" } }
  - { model_name: "x/*", litellm_params: { model: "anthropic/*" } }
environment_variables: { "A; rm": x }
litellm_settings: { fallbacks: [{ gpt: [claude] }], unknown_switch: true }
router_settings: { routing_strategy: own-strategy }
`)
  t.same(unsupported(made).toSorted(), [
    'environment_variables.A; rm',
    'litellm_settings.fallbacks[0]',
    'litellm_settings.unknown_switch',
    'model_list[0]',
    'model_list[1]',
    'model_list[2].litellm_params.mock_response',
    'model_list[4].model_name',
    'router_settings.routing_strategy'
  ])
  t.match(made.config, { models: { gpt: { alias: 'openai/gpt-4o' }, 'x/*': { alias: 'openai/*' } } })
  t.ok(settingsOf(t, made))
})

t.test('names, weights, fallbacks, settings and prices are those of the file', async t => {
  const regions = imported(complete['regions of Azure'] ?? '')
  t.match(regions.config, {
    providers: {
      'azure-openai': {
        kind: 'azure-openai',
        base_url: 'https://eu.openai.azure.com',
        options: { api_version: '2024-10-21' },
        retries: 2,
        timeouts: { response_ms: 30_000 }
      },
      'azure-openai-2': { base_url: 'https://us.openai.azure.com', api_key: 'env:AZURE_US' }
    },
    routes: {
      'gpt-4o': {
        strategy: 'weighted',
        models: [
          { model: 'azure-openai/gpt4o-eu', weight: 900 },
          { model: 'azure-openai-2/gpt4o-us', weight: 100 }
        ]
      }
    }
  })
  const { config } = imported(complete['fallbacks and aliases'] ?? '')
  t.match(config, {
    models: { 'gpt-4': { alias: 'big' }, 'gpt-3.5-turbo': { alias: 'small' } },
    routes: {
      big: {
        strategy: 'in_order',
        models: [
          'anthropic/claude-opus-4-5',
          { model: 'openai/gpt-5-mini', settings: { temperature: 0, max_tokens: 500 } },
          'google/gemini-2.5-pro'
        ]
      },
      small: {
        models: [
          { model: 'openai/gpt-5-mini', settings: { temperature: 0, max_tokens: 500 } },
          'google/gemini-2.5-pro'
        ]
      }
    }
  })
  const own = imported(complete['other services with the API of OpenAI'] ?? '')
  t.match(own.config, {
    providers: {
      'llm.example.com': { kind: 'openai-compatible', api_key: 'env:LITELLM_LLM_EXAMPLE_COM_API_KEY' }
    },
    models: {
      'llm.example.com/own-model': {
        price: { input: 0.5, output: 1.5 },
        capabilities: { input_token_limit: 32_000, tools: true, vision: false }
      }
    }
  })
  t.equal(own.secrets.get('LITELLM_LLM_EXAMPLE_COM_API_KEY'), 'sk-own')
  const accounts = imported(complete['credentials and several accounts'] ?? '')
  t.match(accounts.config, {
    routes: {
      'gpt-5': { models: [{ model: 'openai/gpt-5', weight: 9 }, { model: 'openai-2/gpt-5', weight: 1 }] },
      'first-then-second': { strategy: 'in_order', models: ['openai/gpt-5', 'openai-3/gpt-5'] }
    }
  })
})

t.test('content policy fallbacks are left out of the route, and the plan says why', t => {
  const { config, rows } = imported(`
model_list:
  - { model_name: big, litellm_params: { model: openai/gpt-5 } }
  - { model_name: open, litellm_params: { model: openai/gpt-5-mini } }
litellm_settings: { content_policy_fallbacks: [{ big: [open] }] }
`)
  t.match(config, { models: { big: { alias: 'openai/gpt-5' } } })
  t.notOk(config['routes'])
  t.same(rows.filter(({ path }) => path.includes('content_policy')), [{
    path: 'litellm_settings.content_policy_fallbacks',
    verdict: 'unsupported',
    note: 'a request whose content a provider refuses ends there: no other model gets it'
  }])
  t.end()
})

t.test('no secret of the file appears in the configuration or the plan', async t => {
  const { config, rows } = imported(complete['credentials and several accounts'] ?? '')
  t.notMatch(JSON.stringify([config, rows]), /sk-in-clear|org-1/)
})

t.test(
  'an address or argument that may hold a secret must be moved by hand, and no key goes elsewhere',
  async t => {
    const made = imported(`
model_list:
  - { model_name: a, litellm_params: { model: openai/a, api_base: os.environ/BASE, api_key: os.environ/A_KEY } }
  - { model_name: b, litellm_params: { model: openai/b, api_base: "https://user:hunter2@llm.example.com/v1" } }
mcp_servers:
  a: { url: "https://mcp.example.com/mcp?api_key=hunter2" }
  b: { command: server, args: [--api-key=hunter2] }
`)
    t.notMatch(JSON.stringify(made.config), /hunter2/)
    t.same(
      made.rows
        .filter(({ verdict }) => verdict === 'manual')
        .map(({ path }) => path)
        .toSorted(),
      [
        'mcp_servers.a',
        'mcp_servers.b.args',
        'model_list[0].litellm_params.api_base',
        'model_list[1].litellm_params.api_base'
      ]
    )
    for (const { baseUrl } of settingsOf(t, made).providers.filter(
      ({ enabled, id }) => enabled && id.startsWith('base-url')
    )) {
      t.equal(baseUrl, 'https://base-url.invalid')
    }
  }
)

t.test('built-in property names, cycles and colliding names are handled like any other', async t => {
  const made = imported(`
model_list:
  - { model_name: toString, litellm_params: { model: openai/a } }
  - { model_name: odd, litellm_params: { model: constructor/x } }
  - { model_name: "gpt-*", litellm_params: { model: "openai/gpt-*", temperature: 0 } }
environment_variables: { REAL: os.environ/OTHER, LIST: [1] }
router_settings:
  routing_strategy: constructor
  model_group_alias: { a: b, b: a, x: x, fine: chain, chain: toString }
mcp_servers:
  "a b": { url: https://one.example.com }
  "a/b": { url: https://two.example.com }
`)
  t.match(made.config, {
    models: { toString: { alias: 'openai/a' }, fine: { alias: 'chain' }, chain: { alias: 'toString' } },
    mcp_servers: {
      'litellm/a-b': { url: 'https://one.example.com' },
      'litellm/a-b-2': { url: 'https://two.example.com' }
    }
  })
  t.same(unsupported(made).toSorted(), [
    'environment_variables.LIST',
    'model_list[1]',
    'model_list[2].litellm_params.temperature',
    'router_settings.model_group_alias.a',
    'router_settings.model_group_alias.b',
    'router_settings.model_group_alias.x',
    'router_settings.routing_strategy'
  ])
  t.ok(settingsOf(t, made))
})

t.test('a file of thousands of models is read in time proportional to its size', async t => {
  const entries = (count: number): string =>
    `model_list:\n${Array.from(
      { length: count },
      (_, index) =>
        `  - { model_name: m${index}, litellm_params: { model: openai/m${index}, api_key: sk-${index} } }`
    ).join('\n')}`
  const startedAtMs = performance.now()
  t.equal(Object.keys(imported(entries(2000)).config['providers'] as object).length, 2000)
  t.ok(performance.now() - startedAtMs < 15_000)
})

t.test('programs that send arbitrary metadata keep working', async t => {
  const made = imported('model_list: [{ model_name: m, litellm_params: { model: openai/gpt-4o } }]')
  t.equal(settingsOf(t, made).server.compatibility, 'litellm')
  t.match(made.rows.at(-1), { verdict: 'approximate', note: /`server\.compatibility: litellm`/ })
})

t.test('fallbacks of a name that only an alias or a wildcard serves become a route of that name', async t => {
  const made = imported(`
model_list:
  - { model_name: "openai/*", litellm_params: { model: "openai/*", api_key: os.environ/OPENAI_API_KEY } }
  - { model_name: "claude-*", litellm_params: { model: "anthropic/claude-*" } }
  - { model_name: small, litellm_params: { model: groq/llama, temperature: 0 } }
litellm_settings: { fallbacks: [{ openai/gpt-4o: [claude-x] }, { agent: [claude-y] }, { gone: [small] }, { "openai/*": [small] }] }
router_settings: { model_group_alias: { agent: small, mini: openai/gpt-4o-mini } }
`)
  t.match(made.config, {
    models: {
      'openai/*': { alias: 'openai-2/*' },
      'claude-*': { alias: 'anthropic/claude-*' },
      mini: { alias: 'openai-2/gpt-4o-mini' }
    },
    routes: {
      'openai/gpt-4o': { models: ['openai-2/gpt-4o', 'anthropic/claude-x'] },
      agent: { models: [{ model: 'groq/llama', settings: { temperature: 0 } }, 'anthropic/claude-y'] }
    }
  })
  t.match(noted(made), {
    'litellm_settings.fallbacks[0]': 'exact: the last models of the route',
    'litellm_settings.fallbacks[2]': 'unsupported: no entry of model_list serves gone',
    'litellm_settings.fallbacks[3]': 'unsupported: names with `*` have no fallbacks: list the models'
  })
  t.ok(settingsOf(t, made))
})

t.test('fallbacks for all names are for those without their own, and a fallback has fallbacks itself', async t => {
  const made = imported(`
model_list:
  - { model_name: a, litellm_params: { model: openai/a } }
  - { model_name: b, litellm_params: { model: openai/b } }
  - { model_name: c, litellm_params: { model: openai/c } }
  - { model_name: d, litellm_params: { model: openai/d } }
  - { model_name: last, litellm_params: { model: openai/last, max_tokens: 5 } }
litellm_settings: { fallbacks: [{ a: [b, d] }, { b: [{ model: c }] }, { c: [a] }], default_fallbacks: [last] }
`)
  const last = { model: 'openai/last', settings: { max_tokens: 5 } }
  t.match(made.config['routes'], {
    a: { models: ['openai/a', 'openai/b', 'openai/c', 'openai/d', last] },
    b: { models: ['openai/b', 'openai/c', 'openai/a', 'openai/d', last] },
    d: { models: ['openai/d', last] }
  })
  t.same(unsupported(made), [])
})

t.test('a name that is also the id of a model leads where it led, and hides nothing', async t => {
  const made = imported(`
model_list:
  - { model_name: openai/gpt-4o, litellm_params: { model: openai/gpt-4o, temperature: 0.1 } }
  - { model_name: anthropic/claude, litellm_params: { model: azure/mine, api_base: "https://x.openai.azure.com" } }
  - { model_name: big, litellm_params: { model: anthropic/claude } }
  - { model_name: groq/same, litellm_params: { model: groq/same } }
router_settings: { model_group_alias: { xai/grok: big } }
`)
  t.match(made.config, {
    providers: { 'openai-2': { kind: 'openai' }, 'anthropic-2': { kind: 'anthropic' }, groq: {} },
    models: { 'anthropic/claude': { alias: 'azure-openai/mine' }, big: { alias: 'anthropic-2/claude' } },
    routes: { 'openai/gpt-4o': { models: [{ model: 'openai-2/gpt-4o', settings: { temperature: 0.1 } }] } }
  })
  t.notOk(Object.hasOwn(Object(made.config['models']), 'groq/same'))
  t.ok(settingsOf(t, made))
})

t.test('addresses and other entries get the values of variables; without them each keeps its provider', async t => {
  const yaml = `
model_list:
  - { model_name: q, litellm_params: { model: hosted_vllm/q, api_base: os.environ/ONE } }
  - { model_name: q, litellm_params: { model: hosted_vllm/q, api_base: os.environ/TWO, timeout: os.environ/SECONDS } }
  - { model_name: z, litellm_params: { model: azure/z, api_version: os.environ/VERSION, api_key: os.environ/KEY } }
  - { model_name: n, litellm_params: { model: os.environ/MODEL } }
`
  const unset = imported(yaml)
  t.match(unset.config, {
    providers: {
      vllm: { base_url: 'https://base-url.invalid' },
      'vllm-2': { base_url: 'https://base-url.invalid' },
      'azure-openai': { base_url: 'https://base-url.invalid', api_key: 'env:KEY' }
    },
    routes: { q: { models: ['vllm/q', 'vllm-2/q'] } }
  })
  t.match(noted(unset), {
    'model_list[1].litellm_params.timeout': 'manual: set SECONDS and import again, or write its value here',
    'model_list[2].litellm_params.model': 'manual: set `base_url` of the provider to the value of AZURE_API_BASE',
    'model_list[2].litellm_params.api_version': /^manual: set VERSION/,
    'model_list[3]': 'manual: set MODEL, which names its model, and import again'
  })
  t.ok(settingsOf(t, unset))
  const set = imported(yaml, {
    ONE: 'http://one/v1',
    TWO: 'http://user:hidden@two/v1',
    SECONDS: '3',
    VERSION: '2025-01-01',
    KEY: 'hidden',
    AZURE_API_BASE: 'https://x.openai.azure.com/', MODEL: 'openai/gpt-4o'
  })
  t.match(set.config, {
    providers: {
      vllm: { base_url: 'http://one/v1' },
      'vllm-2': { base_url: 'https://base-url.invalid', timeouts: { response_ms: 3000 } },
      'azure-openai': { base_url: 'https://x.openai.azure.com', options: { api_version: '2025-01-01' } }
    },
    models: { n: { alias: 'openai/gpt-4o' } }
  })
  t.notMatch(JSON.stringify([set.config, set.rows]), /hidden/)
})

t.test('one entry that cannot be kept does not prevent the others', async t => {
  const made = imported(`
x-shared: { note: of the operator }
model_list:
  - { model_name: my model, litellm_params: { model: openai/a } }
  - { model_name: fine, litellm_params: { model: openai/a, max_tokens: "100", temperature: 0.2, top_p: null } }
  - { model_name: 4, litellm_params: { model: openai/responses/four } }
  - { litellm_params: { model: openai/a } }
  - { model_name: empty }
  - { model_name: o, litellm_params: { model: azure/o_series/mine, api_base: "https://x.openai.azure.com" } }
router_settings: { model_group_alias: { "other name": fine } }
`)
  t.match(made.config, {
    models: { 4: { alias: 'openai/four' }, o: { alias: 'azure-openai/mine' } },
    routes: { fine: { models: [{ model: 'openai/a', settings: { temperature: 0.2 } }] } }
  })
  t.match(noted(made), {
    'x-shared': 'exact: read where an entry refers to it',
    'model_list[0]': 'unsupported: my model: names have no spaces here, so give it another one',
    'model_list[1].litellm_params.max_tokens': /^unsupported: is not valid in a request: /,
    'model_list[3]': 'unsupported: has no `model_name`',
    'model_list[4]': 'unsupported: has no `litellm_params.model`',
    'router_settings.model_group_alias.other name': 'unsupported: names have no spaces here'
  })
  t.ok(settingsOf(t, made))
})

t.test('the plan names each price that was read, and each that was not', async t => {
  const made = imported(`
model_list:
  - model_name: own
    litellm_params: { model: openai/own, api_base: "http://a:1/v1", input_cost_per_token: 3.0e-6, input_cost_per_weight: 1 }
    model_info: { id: own-1, mode: chat, output_cost_per_token: "0.000015", input_cost_per_token_above_200k_tokens: 6.0e-6, output_cost_per_image: 0.04, supports_reasoning: true }
  - { model_name: ear, litellm_params: { model: openai/ear, api_base: "http://a:1/v1" }, model_info: { input_cost_per_second: 0.0001 } }
`)
  t.match(made.config['models'], {
    'a-1/own': { price: { input: 3, output: 15, long_prompt: { above_prompt_tokens: 200_000, input: 6 } } },
    'a-1/ear': { price: { per_minute: 0.006 } }
  })
  t.match(noted(made), {
    'model_list[0].litellm_params.input_cost_per_token': 'exact: `price` of a-1/own',
    'model_list[0].litellm_params.input_cost_per_weight': 'manual: set `price` of a-1/own under `models`',
    'model_list[0].model_info.id': 'exact: models go by their names',
    'model_list[0].model_info.mode': 'exact: the endpoint of a call decides',
    'model_list[0].model_info.output_cost_per_token': 'exact: `price` of a-1/own',
    'model_list[0].model_info.input_cost_per_token_above_200k_tokens': 'exact: `price` of a-1/own',
    'model_list[0].model_info.output_cost_per_image': 'manual: set `price` of a-1/own under `models`',
    'model_list[0].model_info.supports_reasoning': 'approximate: only a description',
    'model_list[1].model_info.input_cost_per_second': 'exact: `price` of a-1/ear'
  })
})

t.test('the tools that a tool server is limited to stay the only ones', async t => {
  const made = imported(`
mcp_servers:
  s: { url: "http://tools.example.com/mcp", allowed_tools: [search], auth_type: none }
`)
  t.match(made.config['mcp_servers'], { 'litellm/s': { allowed_tools: ['search'] } })
  t.match(noted(made), { 'mcp_servers.s.auth_type': /^exact/, 'mcp_servers.s.allowed_tools': /^exact/ })
})

t.test('what entries say of one model is put together; of a pattern it is left to the operator', async t => {
  const azure = { model: 'azure/d', api_base: 'https://r.openai.azure.com' }
  const { config, rows } = importLitellmConfig({
    model_list: [
      { model_name: 'a', litellm_params: { ...azure, input_cost_per_token: 0.0000025 } },
      { model_name: 'b', litellm_params: azure, model_info: { supports_vision: true } },
      { model_name: 'groq/*', litellm_params: { model: 'groq/*', input_cost_per_token: 0.000001 } }
    ]
  })
  t.match(config['models'], { 'azure-openai/d': { price: { input: 2.5 }, capabilities: { vision: true } } })
  t.match(rows.find(({ path }) => path === 'model_list[2].litellm_params.input_cost_per_token'), {
    verdict: 'manual'
  })
})

t.test('a timeout holds for streams too, and 0 is none', async t => {
  const timeouts = (timeout: number): unknown => {
    const { config } = importLitellmConfig({
      model_list: [{ model_name: 'm', litellm_params: { model: 'openai/gpt-4o', timeout } }],
      router_settings: { timeout: 0 }
    })
    return Reflect.get(Object(Reflect.get(Object(config['providers']), 'openai')), 'timeouts')
  }
  t.strictSame(timeouts(6000), { first_byte_ms: 6_000_000, response_ms: 6_000_000 })
  t.equal(timeouts(0), undefined)
})

t.test('what is switched off and is off here as well needs nobody', async t => {
  const { rows } = importLitellmConfig({
    model_list: [],
    general_settings: { store_prompts_in_spend_logs: false, store_model_in_db: false },
    router_settings: { cache_responses: false },
    litellm_settings: { ssl_verify: false }
  })
  t.same(rows.filter(({ path }) => path.startsWith('general_') || path.startsWith('router_')), [
    { path: 'general_settings.store_model_in_db', verdict: 'exact', note: 'off' },
    { path: 'general_settings.store_prompts_in_spend_logs', verdict: 'exact', note: 'off' },
    { path: 'router_settings.cache_responses', verdict: 'exact', note: 'off' }
  ])
  t.match(rows.find(({ path }) => path === 'litellm_settings.ssl_verify'), { verdict: 'manual' })
})

t.test('variables of the file are used in addresses', async t => {
  const { config } = importLitellmConfig({
    model_list: [{ model_name: 'm', litellm_params: { model: 'azure/d', api_base: 'os.environ/BASE' } }],
    environment_variables: { BASE: 'https://r.openai.azure.com' }
  })
  t.match(config['providers'], { 'azure-openai': { base_url: 'https://r.openai.azure.com' } })
})

t.test('a credential that the file does not have is in the plan', async t => {
  const { rows } = importLitellmConfig({
    model_list: [
      { model_name: 'm', litellm_params: { model: 'openai/x', litellm_credential_name: 'elsewhere' } }
    ]
  })
  t.match(rows.find(({ path }) => path.endsWith('.litellm_credential_name')), { verdict: 'manual' })
})

t.test('if the first deployment has a weight, those without get no calls', async t => {
  const { config } = importLitellmConfig({
    model_list: [
      { model_name: 'w', litellm_params: { model: 'openai/a', weight: 1 } },
      { model_name: 'w', litellm_params: { model: 'groq/b' } }
    ]
  })
  t.match(config['routes'], {
    w: { models: [{ model: 'openai/a', weight: 1 }, { model: 'groq/b', weight: 0 }] }
  })
})
