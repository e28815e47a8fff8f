/** The outcome for settings of LiteLLM that are not models, routes or secrets. */

import type { Verdict } from './plan.ts'

/** Settings that apply here anyway, or that need a person, with the plan's note about each. */
export const settingNotes: ReadonlyArray<readonly [entry: string, verdict: Verdict, note: string]> = [
  ['router_settings.cooldown_time', 'approximate', 'a model that fails is paused for 5 seconds, then longer'],
  ['router_settings.allowed_fails', 'approximate', 'five failures in a row, or ten of twenty attempts'],
  ['router_settings.retry_after', 'approximate', 'what the provider says, else 250 ms and longer'],
  ['router_settings.enable_pre_call_checks', 'exact', 'models that cannot take a prompt are skipped'],
  ['router_settings.redis_url', 'manual', 'set `coordination.url`'],
  ['router_settings.redis_host', 'manual', 'set `coordination.url`'],
  ['router_settings.redis_port', 'manual', 'set `coordination.url`'],
  ['router_settings.redis_password', 'manual', 'set `coordination.url`'],
  ['litellm_settings.drop_params', 'exact', 'fields that a provider does not know are dropped'],
  ['litellm_settings.modify_params', 'exact', 'requests are fitted to each provider'],
  ['litellm_settings.json_logs', 'exact', 'the log is JSON'],
  ['litellm_settings.set_verbose', 'exact', '`server.log_level` instead'],
  ['litellm_settings.telemetry', 'exact', 'nothing is sent to us'],
  ['litellm_settings.redact_messages_in_exceptions', 'exact', 'errors do not contain messages'],
  [
    'litellm_settings.turn_off_message_logging',
    'exact',
    'messages are kept only where `calls.keep_bodies` says so'
  ],
  ['general_settings.master_key', 'manual', 'create an admin key: `headgate admin-keys create`'],
  ['general_settings.database_url', 'manual', 'keys and teams are not part of the file'],
  ['general_settings.store_model_in_db', 'manual', 'models of the database are not part of the file'],
  ['general_settings.salt_key', 'exact', 'Headgate encrypts nothing with it'],
  ['general_settings.proxy_batch_write_at', 'exact', 'records are written from a journal'],
  [
    'general_settings.background_health_checks',
    'approximate',
    'the health of providers is known from calls'
  ],
  ['general_settings.alerting', 'manual', 'set `alerts`: docs/alerts.md'],
  ['general_settings.ui_username', 'manual', 'sign in with a link of `headgate dashboard`'],
  ['general_settings.ui_password', 'manual', 'sign in with a link of `headgate dashboard`'],
  ['litellm_settings.allowed_fails', 'approximate', 'five failures in a row, or ten of twenty attempts'],
  ['litellm_settings.cooldown_time', 'approximate', 'a model that fails is paused for 5 seconds, then longer'],
  ['litellm_settings.suppress_debug_info', 'exact', 'the log contains no advice'],
  ['litellm_settings.num_workers', 'manual', 'set `server.workers`'],
  ['litellm_settings.ssl_verify', 'manual', 'set `tls.ca` of the provider: certificates are always checked'],
  ['litellm_settings.max_budget', 'unsupported', 'there is no budget for the whole gateway: give each project its own'],
  ['litellm_settings.budget_duration', 'exact', 'the period of `max_budget`'],
  ['litellm_settings.timezone', 'exact', 'the time zone of the budgets of the database'],
  ['litellm_settings.budget_reset_time', 'exact', 'the time at which periods of budgets begin'],
  [
    'litellm_settings.default_internal_user_params',
    'manual',
    'set the limits of projects, and `accounts.oidc.roles`'
  ],
  ['litellm_settings.upperbound_key_generate_params', 'manual', 'set `limits.default_key_limits`'],
  ['litellm_settings.default_key_generate_params', 'manual', 'set `limits.default_key_limits`'],
  [
    'litellm_settings.default_team_settings',
    'manual',
    'each call is in the log and the store: docs/operations.md'
  ],
  [
    'litellm_settings.s3_callback_params',
    'manual',
    'each call is in the log and the store: docs/operations.md'
  ],
  ['litellm_settings.langfuse_default_tags', 'manual', 'tags of a call: docs/attribution.md'],
  ['litellm_settings.service_callback', 'manual', '`metrics` and `telemetry`: docs/telemetry.md'],
  ['litellm_settings.public_model_groups', 'exact', 'each key lists the models that it may use'],
  ['litellm_settings.enable_json_schema_validation', 'unsupported', 'answers are not validated against a schema'],
  [
    'litellm_settings.merge_reasoning_content_in_choices',
    'unsupported',
    'reasoning is separate from the answer: show `reasoning_content`'
  ],
  [
    'litellm_settings.forward_client_headers_to_llm_api',
    'unsupported',
    'headers of callers are not forwarded: set `headers` of the provider'
  ],
  [
    'general_settings.forward_client_headers_to_llm_api',
    'unsupported',
    'headers of callers are not forwarded: set `headers` of the provider'
  ],
  ['general_settings.database_connection_pool_limit', 'manual', 'set `store.pool_size` with `store.url`'],
  ['general_settings.database_connection_timeout', 'manual', 'set `store.connect_ms` with `store.url`'],
  ['general_settings.store_prompts_in_spend_logs', 'manual', 'set `calls.keep_bodies`'],
  ['general_settings.maximum_spend_logs_retention_period', 'manual', 'set `usage.keep_days`'],
  ['general_settings.maximum_spend_logs_retention_interval', 'exact', 'old records are deleted automatically'],
  ['general_settings.disable_spend_logs', 'exact', 'each call has a record, which contains no prompt'],
  ['general_settings.allow_requests_on_db_unavailable', 'exact', 'calls go on while the store is unavailable'],
  ['general_settings.alerting_threshold', 'manual', 'set `alerts`: docs/alerts.md'],
  ['general_settings.alert_types', 'manual', 'set `alerts`: docs/alerts.md'],
  ['general_settings.alerting_args', 'manual', 'set `alerts`: docs/alerts.md'],
  ['general_settings.proxy_budget_rescheduler_min_time', 'exact', 'periods of budgets begin on time'],
  ['general_settings.proxy_budget_rescheduler_max_time', 'exact', 'periods of budgets begin on time'],
  [
    'general_settings.health_check_interval',
    'approximate',
    'the health of providers is known from calls'
  ],
  ['general_settings.ui_access_mode', 'approximate', 'roles decide what each person sees'],
  ['general_settings.allowed_ips', 'unsupported', 'restrict addresses at the proxy in front'],
  ['general_settings.enable_jwt_auth', 'unsupported', 'callers use keys, not tokens of an identity provider'],
  ['general_settings.litellm_jwtauth', 'unsupported', 'callers use keys, not tokens of an identity provider'],
  ['general_settings.custom_auth', 'unsupported', 'callers use keys; custom code is not supported'],
  [
    'general_settings.pass_through_endpoints',
    'unsupported',
    'only the endpoints listed in README.md are served'
  ],
  ['general_settings.set_verbose', 'exact', '`server.log_level` instead'],
  ['general_settings.json_logs', 'exact', 'the log is JSON'],
  ['general_settings.max_parallel_requests', 'manual', 'set `limits.open_calls`'],
  ['general_settings.global_max_parallel_requests', 'manual', 'set `limits.open_calls`'],
  ['general_settings.infer_model_from_keys', 'exact', 'providers list the models that their keys allow'],
  ['router_settings.retry_policy', 'approximate', '`retries` of each provider, for failures that may pass'],
  [
    'router_settings.allowed_fails_policy',
    'approximate',
    'five failures in a row, or ten of twenty attempts'
  ],
  ['router_settings.model_group_retry_policy', 'unsupported', 'retries are set for a provider, not for a name'],
  ['router_settings.max_fallbacks', 'exact', 'every model of the route is tried once'],
  ['router_settings.disable_cooldowns', 'unsupported', 'a model that fails is always paused'],
  ['router_settings.cache_responses', 'manual', 'see docs/caching.md'],
  ['router_settings.set_verbose', 'exact', '`server.log_level` instead'],
  ['router_settings.debug_level', 'exact', '`server.log_level` instead'],
  [
    'router_settings.enable_tag_filtering',
    'unsupported',
    'tags do not select models: use routes, and `models` of keys'
  ],
  [
    'router_settings.provider_budget_config',
    'unsupported',
    'there is no budget for a provider: give each project its own'
  ],
  [
    'router_settings.optional_pre_call_checks',
    'approximate',
    'the turns of a session stay with one account: docs/caching.md'
  ]
]
