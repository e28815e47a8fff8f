/** Makes reports in a thread with its own connection to the embedded store, one at a time and in order. */

import { parentPort, workerData } from 'node:worker_threads'
import { openSqlite } from '../stores/sqlite/open.ts'
import { reports, type ReportJob, type ReportResult } from './reports.ts'

const { directory } = workerData as { directory: string } // set by `reports`
const opened = openSqlite(directory)

parentPort?.on('message', ({ id, name, values }: ReportJob) => {
  // called with that report's arguments
  const report = reports[name] as (...given: unknown[]) => Promise<unknown>
  const send = (result: ReportResult): void => parentPort?.postMessage(result)
  opened
    .then(async ({ query }) => await report(query, ...values))
    .then(
      result => send({ id, result }),
      (error: unknown) => send({ id, error: error instanceof Error ? error : new Error(String(error)) })
    )
})
