/**
 * Finds the causes of alerts in the store, on behalf of all its processes: one of them checks once a minute.
 *
 * A rule gives alerts, each of which is sent once, or conditions, which begin and end.
 */

import { dayMs } from '../core/day.ts'
import { budgetText, nanoUsdOf } from '../core/key.ts'
import { expiringKeys, limitedAmong, projectNames, type WatchedParty } from '../keys/watched-parties.ts'
import { leftover } from '../keys/spent-of.ts'
import { budgetsIn, partyWords } from '../limits/call-accounts.ts'
import { counterName } from '../limits/sum-keys.ts'
import { periodAt, windowOfBudget } from '../limits/windows.ts'
import { hourMs } from '../stores/usage-rollups.ts'
import type { ListedKey } from '../keys/key-rows.ts'
import type { Settings } from '../core/settings.ts'
import type { Database } from '../stores/database.ts'
import type { Reports } from '../usage/reports.ts'
import { alertOf, type Alert, type AlertText } from './alert.ts'

export interface RuleInput {
  readonly settings: Pick<Settings, 'alerts' | 'providers' | 'limits' | 'usage'>
  readonly query: Database['query']
  readonly reports: Pick<Reports, 'make'>
  readonly configuredKeys: () => readonly ListedKey[]
  readonly nowMs: number
}

/** A problem that lasts for a while. */
export interface Condition {
  readonly name: string
  /** `undefined`: currently unknown, so the state stays. */
  readonly holds: boolean | undefined
  readonly began: AlertText
  readonly ended: AlertText
}

export interface Findings {
  readonly alerts?: readonly Alert[]
  readonly conditions?: readonly Condition[]
}

type Rule = (input: RuleInput) => Promise<Findings>

const minuteMs = 60_000
/** Usage rows may be written some minutes after their calls. */
const activeMs = 10 * minuteMs

/** Shares of a budget in percent, highest first. */
const thresholds = [100, 80, 50] as const

const budgets: Rule = async ({ settings, query, reports, configuredKeys, nowMs }) => {
  const active = await reports.make('activeKeys', nowMs - activeMs)
  const parties = [
    ...(await limitedAmong(query, active, configuredKeys(), settings.limits.defaultKeyLimits)),
    ...settings.limits.tags.map(({ tag, ...limits }): WatchedParty => ({
      kind: 'tag',
      id: tag,
      name: tag,
      limits
    })),
    ...settings.limits.models.map(({ model, ...limits }): WatchedParty => ({
      kind: 'model',
      id: model,
      name: model,
      limits
    }))
  ]
  const windows = parties.flatMap(party => budgetsIn(party.limits).map(budget => (
    { party, budget, period: periodAt(windowOfBudget(budget), nowMs) }
  )))
  const spent = await reports.make(
    'spentBy', windows.map(({ party, period: { fromMs, endMs } }) => (
      { party: counterName(party), fromMs, endMs }
    ))
  )
  const alerts = windows.flatMap(({ party, budget, period: { name: window, fromMs, endMs } }, index) => {
    const used = (spent[index] ?? 0) / nanoUsdOf(budget)
    const percent = thresholds.find(threshold => used >= (threshold / 100) * (1 - leftover))
    if (percent === undefined) return []
    const { kind, id, name } = party
    return alertOf(
      {
        event: 'budget.threshold',
        message: `The ${partyWords[kind]} ${name} has spent ${percent} % of its ${budget.soft === true ? 'soft ' : ''}budget of ${budgetText(budget)}.`,
        data: {
          ...subjectOf(party),
          percent,
          spent_usd: (spent[index] ?? 0) / 1e9,
          budget_usd: budget.usd,
          from: new Date(fromMs).toISOString(),
          until: endMs === Infinity ? null : new Date(endMs).toISOString()
        }
      },
      [kind, id, percent, budget.usd, window, fromMs],
      nowMs
    )
  })
  return { alerts }
}

/** An hour is unusual above this multiple of the median, and above this amount. */
const unusualTimes = 4
const minUnusualNanoUsd = 5e9

const unusualHours: Rule = async ({ query, reports, nowMs }) => {
  const hour = nowMs - nowMs % hourMs
  const alerts: Alert[] = []
  // Includes the previous hour: its last calls are recorded in this one.
  for (const fromMs of [hour - hourMs, hour]) {
    const found = (await reports.make('hourSpending', fromMs, minUnusualNanoUsd))
      .filter(({ nanoUsd, medianNanoUsd }) => nanoUsd > unusualTimes * medianNanoUsd)
    const names = await projectNames(query, found.map(({ projectId }) => projectId))
    alerts.push(...found.map(({ projectId: id, nanoUsd, medianNanoUsd }) => {
      const name = names.get(id) ?? id
      return alertOf({
        event: 'spending.unusual',
        message: `The project ${name} has spent ${usd(nanoUsd)} in an hour, usually ${usd(medianNanoUsd)}.`,
        data: {
          project: { id, name },
          hour: new Date(fromMs).toISOString(),
          spent_usd: nanoUsd / 1e9,
          median_usd: medianNanoUsd / 1e9
        }
      }, [id, fromMs], nowMs)
    }))
  }
  return { alerts }
}

const expiring: Rule = async ({ settings: { alerts: { keyExpiryDays } }, query, configuredKeys, nowMs }) => {
  const keys = await expiringKeys(query, configuredKeys(), nowMs, nowMs + keyExpiryDays * dayMs)
  return {
    alerts: keys.map(({ id, name, expiresAtMs }) => {
      const at = new Date(expiresAtMs).toISOString()
      return alertOf({
        event: 'key.expiring',
        message: `The ${partyWords.key} ${name} expires at ${at}.`,
        data: { ...subjectOf({ kind: 'key', id, name }), expires_at: at }
      }, [id, expiresAtMs], nowMs)
    })
  }
}

const attemptsMs = 3 * minuteMs
/** Fewer failures may belong to one call. */
const minFailedAttempts = 5

const providers: Rule = async ({ settings, reports, nowMs }) => {
  const counts = await reports.make('attemptsReport', { fromMs: nowMs - attemptsMs })
  return {
    conditions: settings.providers.filter(({ enabled }) => enabled).map(({ id }) => {
      const { attempts, failed } = counts.get(id) ?? { attempts: 0, failed: 0 }
      const isDown = attempts === failed && attempts >= minFailedAttempts
      return {
        name: `provider ${id}`,
        holds: isDown || attempts > failed ? isDown : undefined,
        began: {
          event: 'provider.down',
          message: `The last ${failed} requests to the provider ${id} failed.`,
          data: { provider: id, failed }
        },
        ended: {
          event: 'provider.up',
          message: `The provider ${id} answers again.`,
          data: { provider: id }
        }
      }
    })
  }
}

const errorsMs = 5 * minuteMs
const minCalls = 20

const errors: Rule = async ({ settings: { alerts: { errorPercent } }, reports, nowMs }) => {
  const { calls, failed } = await reports.make('failedCalls', nowMs - errorsMs)
  const percent = calls === 0 ? 0 : Math.round(failed / calls * 100)
  return {
    conditions: [{
      name: 'errors',
      holds: calls >= minCalls ? failed / calls > errorPercent / 100 : undefined,
      began: {
        event: 'errors.high',
        message: `${percent} % of the last ${calls} calls failed.`,
        data: { calls, failed, percent }
      },
      ended: {
        event: 'errors.normal',
        message: `${percent} % of the last ${calls} calls failed, which is no more than ${errorPercent} %.`,
        data: { calls, failed, percent }
      }
    }]
  }
}

/** Minimum failed attempts of an export: a service may be unreachable for some minutes. */
const minFailedExports = 3

const exports: Rule = async ({ settings: { usage }, query }) => {
  const targets = Object.keys(usage.exports)
  if (targets.length === 0) return {}
  const failing = await query.selectFrom('usage_exports').select(['target', 'from_ms', 'attempts', 'error'])
    .where('state', '!=', 'written').where('target', 'in', targets).where('error', 'is not', null).execute()
  return {
    conditions: targets.map(target => {
      const { attempts, error, from_ms: fromMs = 0 } = failing.find(row => row.target === target) ?? {}
      const from = new Date(fromMs).toISOString()
      return {
        name: `export ${target}`,
        holds: attempts === undefined ? false : attempts >= minFailedExports || undefined,
        began: {
          event: 'export.failing',
          message: `Usage cannot be exported to ${target}: ${error}`,
          data: { target, from, error }
        },
        ended: {
          event: 'export.working',
          message: `Usage is exported to ${target} again.`,
          data: { target }
        }
      }
    })
  }
}

/** The rules, by their names in the log. */
export const alertRules: Readonly<Record<string, Rule>> = {
  budgets,
  unusualHours,
  expiring,
  providers,
  errors,
  exports
}

function subjectOf ({ kind, id, name }: Omit<WatchedParty, 'limits'>): Record<string, object> {
  return { [kind]: { id, name } }
}

function usd (nanoUsd: number): string {
  return `$${(nanoUsd / 1e9).toFixed(2)}`
}
