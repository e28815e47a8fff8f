/** Lists all that a pipeline may depend on, as types: instances are created in `create-services`. */

import type { Admin } from './accounts/admin.ts'
import type { Alerts } from './alerts/alerts.ts'
import type { AnswerCache } from './cache/answer-cache.ts'
import type { TokenCounter } from './embeddings/token-counter.ts'
import type { Keys } from './keys/keys.ts'
import type { TextStages } from './guards/text-filter.ts'
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
  /** Absent without a store: nothing is deferred then, calls are completed at once. */
  readonly deferrals?: Deferrals
  /** Absent without a store: no response is kept then. */
  readonly responseStore?: ResponseStore
  readonly backgroundRuns?: BackgroundRuns
  /** Absent where calls are not recorded. */
  readonly recordAnswer?: RecordAnswer
  readonly recordSent?: RecordSent
  /** Begins the trace of a call by the headers of its request. Absent where no traces are sent. */
  readonly beginTrace?: (headers: Call['headers']) => CallTrace
  /** Absent where no bodies are kept. */
  readonly captureBodies?: CaptureBodies
  /** Endpoints of which nothing is kept before stages have looked at a request. Absent: there are none. */
  readonly inspectedEndpoints?: ReadonlySet<string>
  /** Returns true for keys that may not see costs. Absent when every key may. */
  readonly hidesCost?: (key: ApiKey) => boolean
  /** Lists the tags that the configuration gives to the calls of a key. Absent where it gives none. */
  readonly ownTags?: (key: ApiKey) => readonly string[]
  /** Returns what digests the names of end users in calls of a key. Absent where names are kept. */
  readonly digestEndUsers?: (key: ApiKey) => (name: string) => string
  /** Lists the tags that the configuration gives to routes by name. Absent where it gives none. */
  readonly routeTags?: (names: readonly string[]) => readonly string[]
  /** Finds budgets of tags, models and end users. Absent where there are none. */
  readonly namedBudgets?: NamedBudgets | undefined
  /** Opens what the admin API works with. Absent without a store, and where the dashboard is off. */
  readonly admin?: () => Promise<Admin>
  /** Absent where none are sent. */
  readonly alerts?: Alerts
  /** Absent where none are written. */
  readonly usageExports?: UsageExports
  /** Look at the texts of calls. Absent where nothing does. */
  readonly textStages?: TextStages
  /** Run calls of mirrored routes with other models. Absent where no route is mirrored. */
  readonly mirrors?: Mirrors
  /** Absent where every call is answered anew. */
  readonly answerCache?: AnswerCache
  readonly tokenCounter: TokenCounter
  readonly limiter: Limiter
  /** False while the process is shutting down. */
  readonly ready: () => boolean
  /** Names the parts that do not work while calls go on. */
  readonly degraded?: () => readonly string[]
}
