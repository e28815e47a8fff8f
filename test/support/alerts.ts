/** Alerts on a test's store, with controlled clock and waits. */

import { AlertStore } from '../../lib/alerts/alert-store.ts'
import { Alerts, type AlertsOptions } from '../../lib/alerts/alerts.ts'
import { webhookChannel } from '../../lib/alerts/webhook-channel.ts'
import { alertEventNames } from '../../schemas/config/alerts.ts'
import { createLog } from '../../lib/log/log.ts'
import { Secret } from '../../lib/core/secret.ts'
import type { Channel } from '../../lib/alerts/alert.ts'
import type { Database } from '../../lib/stores/database.ts'

export const alertSecret = `whsec_${Buffer.from('the key').toString('base64')}`

/** Returns a channel that posts every event. */
export function webhookAt (url: string): Channel {
  return webhookChannel({ url, secret: new Secret(alertSecret), headers: {}, events: [...alertEventNames] })
}

/** Returns alerts without rules, unless the test gives some. */
export function alertsOn (
  database: Database,
  channels: Readonly<Record<string, Channel>>,
  more: Partial<AlertsOptions> = {}
): Alerts {
  return new Alerts({
    channels: new Map(Object.entries(channels)),
    store: new AlertStore(database),
    rules: {},
    degraded: () => [],
    log: createLog('silent'),
    rulesMs: 3_600_000,
    ...more
  })
}
