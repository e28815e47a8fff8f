/** A process that claims a delivery and posts it: `node alert-worker.js DIRECTORY URL`. */

import { openSqlite } from '../../lib/stores/sqlite/open.ts'
import { alertsOn, webhookAt } from './alerts.ts'

const [, , directory = '', url = ''] = process.argv
const database = await openSqlite(directory)
alertsOn(database, { 'webhooks.ops': webhookAt(url) }, { leaseMs: 1000 }).poll()
setInterval(() => undefined, 1000)
