/** Exported files of usage rows, with the outcome of each. */

import { Type, type Static } from 'typebox'
import { OneOf } from '../nullable.ts'
import { Id, Milliseconds, OrNull, Page, pageQuery, Request, type QueryParameter } from './common.ts'

export const UsageExport = Type.Object({
  target: Type.String({ description: 'Its name in `usage.exports`.' }),
  from_ms: Milliseconds,
  until_ms: Milliseconds,
  state: OneOf(['waiting', 'written'], {
    description: '`waiting`: the file will be written, for the first time or again, when it is due.'
  }),
  file: OrNull(Type.String(), 'Its name; `null` before it was first written.'),
  revision: Type.Integer({ description: 'How often it was written: more than once after late records.' }),
  rows: Type.Integer({ description: 'Records in it.' }),
  bytes: Type.Integer(),
  attempts: Type.Integer({ description: 'Since it was last written.' }),
  error: OrNull(Type.String(), 'Why the last attempt failed.'),
  next_at_ms: OrNull(Milliseconds, 'The time of the next attempt; `null`: there is none.'),
  written_at_ms: OrNull(Milliseconds)
})
export type UsageExport = Static<typeof UsageExport>

export const UsageExportPage = Page(UsageExport)
export type UsageExportPage = Static<typeof UsageExportPage>

export const UsageExportRun = Request({ target: Id }, 'The target to write files for.')
export type UsageExportRun = Static<typeof UsageExportRun>

export const UsageExportsDue = Type.Object({
  target: Type.String(),
  due: Type.Integer({
    description: 'Number of files that are due: they are written now, one after the other.'
  })
})
export type UsageExportsDue = Static<typeof UsageExportsDue>

export const usageExportQuery = {
  target: { description: 'Only this target.', type: 'string' },
  ...pageQuery
} as const satisfies Record<string, QueryParameter>
