/** Lists all that a pipeline may depend on, as types: instances are created in `create-services`. */

import type { Admin } from './accounts/admin.ts'
import type { Alerts } from './alerts/alerts.ts'
import type { AnswerCache } from './cache/answer-cache.ts'
import type { TokenCounter } from './embeddings/token-counter.ts'
import type { Keys } from './keys/keys.ts'
import type { TextGuards } from './guards/text-filter.ts'
import type { Limiter } from './limits/limiter.ts'
import type { NamedBudgets } from './limits/named-budgets.ts'
import type { ToolServers } from './mcp/tool-servers.ts'
import type { ModelRegistry } from './models/model-registry.ts'
import type { Providers } from './providers/provider.ts'
import type { Call, RecordAnswer, RecordSent } from './core/call.ts'
import type { CallTrace } from './core/call-trace.ts'
import type { CaptureBodies } from './core/body-capture.ts'
import type { ApiKey } from './core/key.ts'
import type { Settings } from './core/settings.ts'
import type { BackgroundRuns } from './deferred/background-runs.ts'
import type { Mirrors } from './deferred/mirrors.ts'
import type { Deferrals } from './deferred/deferrals.ts'
import type { UsageExports } from './exports/usage-exports.ts'
import type { AbandonedAnswers } from './attempts/abandoned-answers.ts'
import type { ResponseStore } from './stores/response-store.ts'
import type { RouteHealth } from './routing/route-health.ts'

export interface Services {
  readonly settings: Settings
  readonly keys: Keys
  readonly models: ModelRegistry
  readonly providers: Providers
  readonly toolServers: ToolServers
  readonly abandonedAnswers: AbandonedAnswers
  readonly routeHealth: RouteHealth
  /** Absent without a store: nothing is deferred, and calls are completed at once. */
  readonly deferrals?: Deferrals | undefined
  /** Absent without a store: no response is kept. */
  readonly responseStore?: ResponseStore | undefined
  readonly backgroundRuns?: BackgroundRuns | undefined
  /** Absent where calls are not recorded, as `recordSent` is. */
  readonly recordAnswer?: RecordAnswer | undefined
  readonly recordSent?: RecordSent | undefined
  /** Begins the trace of a call by the headers of its request. Absent where no traces are sent. */
  readonly beginTrace?: ((headers: Call['headers']) => CallTrace) | undefined
  /** Absent where no bodies are kept. */
  readonly captureBodies?: CaptureBodies | undefined
  /** Endpoints of which nothing is kept until stages have seen the request. Absent where no stage looks. */
  readonly inspectedEndpoints?: ReadonlySet<string> | undefined
  /** Returns true for a key that may not see costs. Absent where every key may. */
  readonly hidesCost?: ((key: ApiKey) => boolean) | undefined
  /** Lists the tags that the configuration gives to the calls of a key. Absent where it gives none. */
  readonly ownTags?: ((key: ApiKey) => readonly string[]) | undefined
  /** True where values of `metadata` that are not strings are recorded instead of refused. */
  readonly acceptsAnyMetadata?: boolean | undefined
  /** Returns what digests the names of end users in calls of a key. Absent where names are kept. */
  readonly digestEndUsers?: ((key: ApiKey) => (name: string) => string) | undefined
  /** Lists the tags that the configuration gives to routes by name. Absent where it gives none. */
  readonly routeTags?: ((names: readonly string[]) => readonly string[]) | undefined
  /** Finds budgets of tags, models and end users. Absent where there are none. */
  readonly namedBudgets?: NamedBudgets | undefined
  /** Opens what the admin API works with. Absent without a store, and where the dashboard is off. */
  readonly admin?: (() => Promise<Admin>) | undefined
  /** Absent where no channel for alerts is configured. */
  readonly alerts?: Alerts | undefined
  /** Absent where no target for exports is configured. */
  readonly usageExports?: UsageExports | undefined
  /** The stages that look at the texts of calls. Absent where none is configured. */
  readonly textGuards?: TextGuards | undefined
  /** Runs calls of mirrored routes with other models. Absent where no route is mirrored. */
  readonly mirrors?: Mirrors | undefined
  /** Absent where answers are not cached. */
  readonly answerCache?: AnswerCache | undefined
  readonly tokenCounter: TokenCounter
  readonly limiter: Limiter
  /** False while the process is shutting down. */
  readonly ready: () => boolean
  /** Names the parts that do not work while calls go on. */
  readonly degraded?: (() => readonly string[]) | undefined
}
