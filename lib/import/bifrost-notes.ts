/** The outcome for settings of Bifrost that are not providers, keys or tool servers. */

import type { Verdict } from './plan.ts'

const administration =
  'create an admin key, `headgate admin-keys create`, or sign in with `headgate dashboard`'

/** By path. Settings that are `false`, empty or not `enabled` are noted as off. */
export const bifrostNotes: ReadonlyArray<readonly [path: string, verdict: Verdict, note: string]> = [
  ['$schema', 'exact', 'the address of a schema'],
  ['version', 'exact', 'says what an empty list allows'],
  ['source_of_truth', 'exact', 'the file is always the source'],
  ['server.read_buffer_size', 'exact', 'headers of 16 KiB'],
  ['encryption_key', 'exact', 'Headgate encrypts nothing with it'],
  ['env_label', 'approximate', 'only a description'],
  ['auth_config', 'manual', administration],
  ['governance.auth_config', 'manual', administration],
  ['client.drop_excess_requests', 'approximate', 'what waits longer than `max_waiting_ms` is refused'],
  ['client.initial_pool_size', 'exact', 'nothing is allocated in advance'],
  ['client.prometheus_labels', 'manual', 'see the labels of docs/telemetry.md'],
  ['client.allowed_origins', 'manual', 'set `server.cors_origins`'],
  ['client.allowed_headers', 'exact', 'browsers may send every header of the API'],
  ['client.enable_logging', 'exact', 'each call has a record'],
  ['client.disable_content_logging', 'exact', 'prompts are kept only where `calls.keep_bodies` says so'],
  [
    'client.allow_per_request_content_storage_override', 'unsupported',
    'set `calls.keep_bodies` for all calls'
  ],
  ['client.allow_per_request_raw_override', 'unsupported', 'answers are always in the format of the caller'],
  ['client.disable_db_pings_in_health', 'exact', '`/livez` does not look at the store'],
  ['client.dump_errors_in_console_logs', 'exact', 'causes of errors are in the log'],
  ['client.log_retention_days', 'manual', 'set `usage.keep_days`'],
  ['client.max_request_body_size_mb', 'manual', 'set `limits.json_body_bytes`'],
  ['client.compat.should_drop_params', 'exact', 'fields that a provider does not know are dropped'],
  ['client.compat.should_convert_params', 'exact', 'requests are fitted to each provider'],
  ['client.compat.convert_chat_to_responses', 'exact', 'every API reaches every model'],
  ['client.compat.convert_text_to_chat', 'exact', 'every API reaches every model'],
  [
    'client.header_filter_config', 'unsupported',
    'headers of callers are not forwarded: set `headers` of the provider'
  ],
  ['client.async_job_result_ttl', 'manual', 'see deferred calls in docs/getting-started.md'],
  ['client.required_headers', 'unsupported', 'only the key can be required'],
  ['client.logging_headers', 'manual', 'see docs/attribution.md'],
  ['client.whitelisted_routes', 'unsupported', 'only health and documentation answer without a key'],
  ['client.hide_deleted_virtual_keys_in_filters', 'exact', 'revoked keys are listed separately'],
  ['client.allow_direct_keys', 'approximate', 'callers may send their own key in `X-Provider-Key`'],
  ['client.mcp_agent_depth', 'manual', 'set `tools.loop_tokens` or `tools.loop_ms`'],
  ['client.mcp_tool_execution_timeout', 'manual', 'set `tools.call_ms`'],
  ['client.mcp_tool_sync_interval', 'manual', 'set `tools.list_ttl_ms`'],
  ['client.mcp_disable_auto_tool_inject', 'exact', 'a call gets the tools of the servers that it names'],
  ['client.mcp_code_mode_binding_level', 'unsupported', 'tools are called one by one'],
  ['client.mcp_external_client_url', 'unsupported', 'tool servers get headers; OAuth is not supported'],
  ['client.routing_chain_max_depth', 'exact', 'routes cannot refer back to themselves'],
  ['client.webhook_config', 'exact', 'there are no webhooks for jobs'],
  ['mcp.tool_manager_config.tool_execution_timeout', 'manual', 'set `tools.call_ms`'],
  ['mcp.tool_manager_config.max_agent_depth', 'manual', 'set `tools.loop_tokens` or `tools.loop_ms`'],
  ['mcp.tool_manager_config.code_mode_binding_level', 'unsupported', 'tools are called one by one'],
  [
    'mcp.tool_manager_config.disable_auto_tool_inject', 'exact',
    'a call gets the tools of the servers that it names'
  ],
  ['mcp.tool_sync_interval', 'manual', 'set `tools.list_ttl_ms`'],
  ['config_store', 'manual', 'set `store`, unless SQLite on this machine is to be used'],
  ['logs_store', 'manual', 'calls are in `store` as well'],
  ['vector_store', 'manual', 'answers are cached for equal requests only: docs/caching.md'],
  ['framework.pricing.pricing_url', 'manual', 'download it and set `catalogue`'],
  ['framework.pricing.pricing_sync_interval', 'exact', 'a changed file of `catalogue` is read at once'],
  ['framework.pricing.live_models_sync_interval', 'exact', 'unknown models can be called too'],
  ['websocket', 'unsupported', 'there is no API over WebSocket'],
  ['cluster_config', 'manual', 'set `coordination.url`: see docs/operations.md#redis'],
  ['guardrails_config', 'manual', 'see `stages` in docs/guards.md'],
  ['alerting', 'manual', 'set `alerts`: docs/alerts.md'],
  ['audit_logs', 'exact', 'the audit log is always on'],
  ['scim_config', 'manual', 'set `accounts.oidc`'],
  ['circuit_breaker_config', 'approximate', 'five failures in a row, or ten of twenty attempts'],
  ['load_balancer_config', 'approximate', 'see `strategy` in docs/routing.md'],
  ['large_payload_optimization', 'exact', 'media in a body stay bytes'],
  ['governance.pricing_overrides', 'manual', 'set `price` of these models under `models`'],
  ['governance.model_configs', 'unsupported', 'there are no limits for one model: restrict `models` of keys'],
  ['governance.providers', 'unsupported', 'there are no limits for a provider: give each project its own'],
  ['governance.business_units', 'unsupported', 'there are no limits for several projects: give each its own'],
  ['governance.roles', 'manual', 'roles are admin, member and viewer: docs/dashboard.md'],
  ['governance.complexity_analyzer_config', 'unsupported', 'prompts are not routed by difficulty']
]

type PluginNote = readonly [verdict: Verdict, note: string]
export const otherPlugin: PluginNote = [
  'unsupported',
  'custom plugins are not supported: see `stages` in docs/guards.md'
]

/** Plugins by their names. */
export const pluginNotes: Readonly<Record<string, PluginNote>> = {
  governance: ['exact', 'limits of keys and projects always hold'],
  logging: ['exact', 'each call has a record'],
  telemetry: ['exact', '`metrics`, on a port of its own'],
  prometheus: ['exact', '`metrics`, on a port of its own'],
  semantic_cache: ['manual', 'answers are cached for equal requests only: docs/caching.md'],
  semanticcache: ['manual', 'answers are cached for equal requests only: docs/caching.md'],
  maxim: ['manual', 'each call is in the log and the store: docs/operations.md'],
  datadog: ['manual', 'set `telemetry.otlp` to its agent: docs/telemetry.md'],
  bigquery: ['manual', 'each call is in the log and the store: docs/operations.md'],
  kafka: ['manual', 'each call is in the log and the store: docs/operations.md'],
  pubsub: ['manual', 'each call is in the log and the store: docs/operations.md'],
  mocker: ['unsupported', 'use a model of the sandbox']
}
