/** Opens the exports of a configuration. */

import { Reports } from '../usage/reports.ts'
import { isUsageColumn } from '../stores/usage-columns.ts'
import type { Settings } from '../core/settings.ts'
import type { Log } from '../log/log.ts'
import type { Database } from '../stores/database.ts'
import { directoryDestination } from './directory-destination.ts'
import { ExportStore } from './export-store.ts'
import { s3Destination, type S3Options } from './s3-destination.ts'
import { UsageExports, type ExportTarget } from './usage-exports.ts'

/** Maximum duration of a request to a bucket. */
const requestMs = 10 * 60_000

export function openExports (
  settings: Settings,
  { database, log }: { readonly database: Database, readonly log: Log }
): UsageExports {
  const reports = new Reports(database)
  return new UsageExports({
    targets: exportTargets(settings, { workFolder: database.directory, requestMs }),
    store: new ExportStore(database),
    reports,
    log,
    onClose: async () => await reports.close()
  })
}

/** Returns the targets of a configuration by name. They must be closed. */
export function exportTargets (
  { usage }: Pick<Settings, 'usage'>,
  options: S3Options
): ReadonlyMap<string, ExportTarget> {
  const targets = new Map<string, ExportTarget>()
  for (const [name, { directory, s3, columns, ...how }] of Object.entries(usage.exports)) {
    const destination = s3 === undefined
      ? directoryDestination(directory ?? '') // one of both is there
      : s3Destination(s3, options)
    targets.set(name, { ...how, destination, columns: columns?.filter(isUsageColumn) })
  }
  return targets
}
