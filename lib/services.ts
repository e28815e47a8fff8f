/** The types of everything a pipeline may depend on; `create-services` creates the instances. */

import type { Admin } from './accounts/admin.ts'
import type { Alerts } from './alerts/alerts.ts'
import type { AnswerCache } from './cache/answer-cache.ts'
import type { TokenCounter } from './embeddings/token-counter.ts'
import type { Keys } from './keys/keys.ts'
import type { TextGuards } from './guards/text-guards.ts'
import type { Limiter } from './limits/limiter.ts'
import type { NamedBudgets } from './limits/named-budgets.ts'
import type { ToolServers } from './mcp/tool-servers.ts'
import type { ModelRegistry } from './models/model-registry.ts'
import type { Providers } from './providers/provider.ts'
import type { JournalSent } from './core/call.ts'
import type { RecordRules } from './core/record-rules.ts'
import type { Settings } from './core/settings.ts'
import type { BackgroundRuns } from './deferred/background-runs.ts'
import type { Mirrors } from './deferred/mirrors.ts'
import type { Deferrals } from './deferred/deferrals.ts'
import type { UsageExports } from './exports/usage-exports.ts'
import type { AbandonedAnswers } from './attempts/abandoned-answers.ts'
import type { ResponseStore } from './stores/response-store.ts'
import type { RoutingState } from './routing/routing-state.ts'

export interface Services {
  readonly settings: Settings
  readonly keys: Keys
  readonly models: ModelRegistry
  readonly providers: Providers
  readonly toolServers: ToolServers
  readonly abandonedAnswers: AbandonedAnswers
  readonly routingState: RoutingState
  /** Absent without a store: calls are then answered immediately. */
  readonly deferrals?: Deferrals | undefined
  /** Absent without a store: responses are then not kept. */
  readonly responseStore?: ResponseStore | undefined
  readonly backgroundRuns?: BackgroundRuns | undefined
  /** Absent if calls are not recorded. */
  readonly journalSent?: JournalSent | undefined
  /** Default: none. */
  readonly recordRules?: RecordRules | undefined
  /** Finds budgets of tags, models and end users. Absent if there are none. */
  readonly namedBudgets?: NamedBudgets | undefined
  /** Opens the services of the admin API. Absent without a store or with the dashboard disabled. */
  readonly admin?: (() => Promise<Admin>) | undefined
  /** Absent without channels for alerts. */
  readonly alerts?: Alerts | undefined
  /** Absent without export targets. */
  readonly usageExports?: UsageExports | undefined
  /** The guards that inspect the texts of calls. Absent if there are none. */
  readonly textGuards?: TextGuards | undefined
  /** Runs mirrored calls. Absent if no route is mirrored. */
  readonly mirrors?: Mirrors | undefined
  /** Absent if answers are not cached. */
  readonly answerCache?: AnswerCache | undefined
  readonly tokenCounter: TokenCounter
  readonly limiter: Limiter
  /** False while the process is shutting down. */
  readonly ready: () => boolean
  /** Names the parts that fail while calls go on. */
  readonly degraded?: (() => readonly string[]) | undefined
}
