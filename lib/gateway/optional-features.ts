/** Loads and opens features that few configurations use, so that others need no memory for them. */

import { guardKindOf, isJudgeKind } from '../../schemas/config/guards.ts'
import { closeJudges, type Judge } from '../guards/text-judge.ts'
import type { Admin } from '../accounts/admin.ts'
import type { Alerts } from '../alerts/alerts.ts'
import type { LiveConfiguration } from '../config/live-configuration.ts'
import type { Settings } from '../core/settings.ts'
import type { OutageState } from '../alerts/store-outage.ts'
import type { ServiceOptions } from '../create-services.ts'
import type { UsageExports } from '../exports/usage-exports.ts'
import type { JudgeInput } from '../judges/judge-input.ts'
import type { KeyStore } from '../keys/key-store.ts'
import type { NamedBudgets } from '../limits/named-budgets.ts'
import type { Log } from '../log/log.ts'
import type { Database } from '../stores/database.ts'
import type { CallRecorder } from './call-recorder.ts'

/** The options of a gateway that features need; a feature without what it needs is not opened. */
export interface FeatureOptions {
  readonly log: Log
  readonly keyStore?: KeyStore
  readonly configuration?: LiveConfiguration
  readonly database?: Database
  readonly usageDatabase?: Database
}

/** What features need of the parts that outlive a configuration. */
interface LastingParts extends Omit<JudgeInput, 'settings'> {
  readonly recorder: CallRecorder
  readonly degraded: () => readonly string[]
  /** The alert of an outage of the store. */
  readonly outage: OutageState
  /** The secret of the store. */
  readonly secret: Buffer
}

/**
 * Opens the features of a configuration: named budgets, the recorder of bodies, judges, exports and alerts.
 * After a ConfigError nothing is left open.
 */
export async function openFeatures (
  settings: Settings,
  options: FeatureOptions,
  { recorder, degraded, outage, secret, services, openWork }: LastingParts
): Promise<
  Pick<ServiceOptions, 'namedBudgets' | 'bodyRecorder' | 'judges' | 'alerts' | 'usageExports'>
> {
  const namedBudgets = await loadNamedBudgets(settings, options, secret)
  const bodyRecorder = await recorder.bodyRecorderFor(settings)
  const judges = await loadJudges(settings, { services, openWork })
  let usageExports: UsageExports | undefined
  try {
    usageExports = await loadExports(settings, options)
    const alerts = await loadAlerts(settings, options, { degraded, outage })
    return { namedBudgets, bodyRecorder, judges, usageExports, alerts }
  } catch (error) {
    await usageExports?.close()
    await closeJudges(judges)
    throw error
  }
}

/** The services of the admin API, opened when first used. */
export interface LazyAdmin {
  readonly open: () => Promise<Admin>
  readonly close: () => Promise<void>
}

/** Returns the services of the admin API, opened when first used; `undefined` without a store of keys. */
export function lazyAdmin (
  { database, keyStore, configuration }: FeatureOptions
): LazyAdmin | undefined {
  if (database === undefined || keyStore === undefined) return undefined
  let opened: Promise<Admin> | undefined
  const load = async (): Promise<Admin> => {
    const { Admin } = await import('../accounts/admin.ts')
    return new Admin(database, keyStore, configuration)
  }
  return {
    open: async () => await (opened ??= load()),
    close: async () => await (await opened)?.reports.close()
  }
}

/**
 * Opens the judges of guards, loaded once a configuration has some.
 *
 * @throws ConfigError for an unusable one
 */
async function loadJudges (
  settings: Settings,
  input: Omit<JudgeInput, 'settings'>
): Promise<ReadonlyMap<string, Judge>> {
  if (!settings.guards.some(({ use }) => isJudgeKind(guardKindOf(use)))) return new Map()
  const { openJudges } = await import('../judges/open-judges.ts')
  return await openJudges(settings, input)
}

/**
 * Finds budgets by names in calls, loaded once a configuration has some.
 *
 * @param secret of the store
 */
async function loadNamedBudgets (
  settings: Settings,
  { usageDatabase }: FeatureOptions,
  secret: Buffer
): Promise<NamedBudgets | undefined> {
  const { limits: { tags, models }, endUsers } = settings
  const hasBudgets = endUsers.defaultBudget !== undefined || endUsers.budgets !== undefined
  if (tags.length + models.length === 0 && !endUsers.required && !hasBudgets) return undefined
  const { openNamedBudgets } = await import('../limits/named-budgets.ts')
  return openNamedBudgets(settings, secret, usageDatabase)
}

/**
 * Opens alerts, loaded once a configuration has channels.
 *
 * @throws ConfigError if a required package is not installed
 */
async function loadAlerts (
  settings: Settings,
  { database, keyStore, log }: FeatureOptions,
  { degraded, outage }: Pick<LastingParts, 'degraded' | 'outage'>
): Promise<Alerts | undefined> {
  const { webhooks, emails } = settings.alerts
  if (database === undefined || Object.keys({ ...webhooks, ...emails }).length === 0) return undefined
  const { openAlerts } = await import('../alerts/open-alerts.ts')
  return await openAlerts(settings, {
    database, configuredKeys: () => keyStore?.configured() ?? [], degraded, outage, log
  })
}

/** Opens exports of usage, loaded once a configuration has some. */
async function loadExports (
  settings: Settings,
  { database, log }: FeatureOptions
): Promise<UsageExports | undefined> {
  if (database === undefined || Object.keys(settings.usage.exports).length === 0) return undefined
  const { openExports } = await import('../exports/open-exports.ts')
  return openExports(settings, { database, log })
}
