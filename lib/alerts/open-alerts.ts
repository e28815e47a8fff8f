/** Opens the alerts of a configuration. */

import { loadOptional } from '../config/optional-packages.ts'
import { Reports } from '../usage/reports.ts'
import type { Settings } from '../core/settings.ts'
import type { Database } from '../stores/database.ts'
import type { Channel } from './alert.ts'
import { alertRules, type RuleInput } from './alert-rules.ts'
import { AlertStore } from './alert-store.ts'
import { Alerts, type AlertsOptions } from './alerts.ts'
import { webhookChannel } from './webhook-channel.ts'

export interface AlertDeps extends Pick<AlertsOptions, 'degraded' | 'log' | 'outage'> {
  readonly database: Database
  readonly configuredKeys: RuleInput['configuredKeys']
}

/** @throws ConfigError where the package that sends emails is not installed */
export async function openAlerts (
  settings: Settings,
  { database, configuredKeys, degraded, log, outage }: AlertDeps
): Promise<Alerts> {
  const reports = new Reports(database)
  const input = { settings, query: database.query, reports, configuredKeys }
  const rules = Object.entries(alertRules).map(([name, rule]) => (
    [name, async (nowMs: number) => await rule({ ...input, nowMs })] as const
  ))
  return new Alerts({
    channels: await channelsOf(settings),
    store: new AlertStore(database),
    rules: Object.fromEntries(rules),
    degraded,
    log,
    ...outage !== undefined && { outage },
    onClose: async () => await reports.close()
  })
}

async function channelsOf ({
  alerts: { webhooks, emails }
}: Settings): Promise<ReadonlyMap<string, Channel>> {
  const channels = new Map<string, Channel>()
  if (Object.keys(emails).length > 0) {
    const { emailChannel } =
      await loadOptional(async () => await import('./email-channel.ts'), 'alerts.emails', ['nodemailer'])
    for (const [name, email] of Object.entries(emails)) channels.set(`emails.${name}`, emailChannel(email))
  }
  for (const [name, webhook] of Object.entries(webhooks)) {
    channels.set(`webhooks.${name}`, webhookChannel(webhook))
  }
  return channels
}
