import type { CallRecord } from '../../lib/core/record.ts'

/** Some facts of a call, by group. */
export type RecordParts = { readonly [group in keyof CallRecord]?: Partial<CallRecord[group]> }

/** Copies facts into a record, group by group, and returns the record. */
export function fillRecord <R extends CallRecord> (record: R, ...parts: readonly RecordParts[]): R {
  for (const part of parts) {
    for (const [group, facts] of Object.entries(part)) {
      const own: unknown = record[group as keyof CallRecord]
      if (own instanceof Object && group !== 'trace' && group !== 'bodies') Object.assign(own, facts)
      else Object.assign(record, { [group]: facts })
    }
  }
  return record
}
