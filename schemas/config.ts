/**
 * `headgate.yaml`: every entry with its range, default and purpose. Defaults are defined only here:
 * `lib/config` and editors take them from these schemas.
 *
 * The types are those of a complete configuration, with defaults filled in. Durations are in milliseconds
 * (`_ms`), sizes in bytes (`_bytes`), prices in USD per million tokens.
 */

import { Type, type Static } from 'typebox'
import { AccountsConfig } from './config/accounts.ts'
import { AlertsConfig } from './config/alerts.ts'
import { CacheConfig } from './config/cache.ts'
import { CallsConfig } from './config/calls.ts'
import { DashboardConfig } from './config/dashboard.ts'
import { EndUsersConfig } from './config/end-users.ts'
import { Closed, Named, Text } from './config/entries.ts'
import { KeyConfig } from './config/keys.ts'
import { LimitsConfig } from './config/limits.ts'
import { ModelConfig } from './config/models.ts'
import { ProviderConfig } from './config/providers.ts'
import { RouteConfig } from './config/routes.ts'
import { MetricsConfig, ServerConfig, TelemetryConfig } from './config/server.ts'
import { GuardConfig } from './config/guards.ts'
import {
  CoordinationConfig,
  DeferredConfig,
  ResponsesConfig,
  StoreConfig,
  UsageConfig
} from './config/stores.ts'
import { ToolsConfig, ToolServerConfig } from './config/tools.ts'

export const Config = Closed(
  {
    providers: Named(
      ProviderConfig,
      'Providers. Any server that speaks the chat-completions ' +
        'dialect is one entry with a name of your choice and its `base_url`.',
      {
        pattern: '^[a-z0-9][a-z0-9._-]*$',
        patternErrorMessage: 'a name is lower-case letters, digits, `.`, `_` and `-`'
      }
    ),
    catalogue: Type.Optional(
      Text(
        'A file of models, relative to the configuration file, of the shape of `lib/models/catalogue.json`, or a price map of LiteLLM. Its models replace those ' +
          'of the built-in catalogue that have the same id, and are added to the others. Its families are matched first.'
      )
    ),
    models: Named(
      ModelConfig,
      'By id, with the provider prefix; or by any name, for an alias, which may have wildcards: `claude-*`.'
    ),
    routes: Named(
      RouteConfig,
      'Names for lists of models that are tried until one succeeds: a list, or a map of ' +
        '`models` and the `strategy` that orders them.'
    ),
    mcp_servers: Named(ToolServerConfig, 'Tool servers callers may name, by `org/name`.', {
      pattern: '^[A-Za-z0-9_-]+/[A-Za-z0-9_-]+$',
      patternErrorMessage: 'a tool server is named `org/name`'
    }),
    keys: Type.Array(KeyConfig, { default: [], description: 'Keys that may call.' }),
    limits: LimitsConfig,
    end_users: EndUsersConfig,
    tools: ToolsConfig,
    server: ServerConfig,
    metrics: Type.Optional(MetricsConfig),
    telemetry: TelemetryConfig,
    store: StoreConfig,
    coordination: CoordinationConfig,
    usage: UsageConfig,
    alerts: AlertsConfig,
    calls: CallsConfig,
    stages: Type.Array(GuardConfig, {
      default: [],
      maxItems: 50,
      description: 'Guards that inspect the texts of calls, in this order. Default: none.'
    }),
    cache: CacheConfig,
    deferred: DeferredConfig,
    responses: ResponsesConfig,
    dashboard: DashboardConfig,
    accounts: AccountsConfig
  },
  { title: 'Headgate', description: 'Configuration of the Headgate AI gateway.' }
)
export type Config = Static<typeof Config>
