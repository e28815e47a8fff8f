/** Validates other files against a schema, with the same problem reports as the configuration. */

import type { ErrorObject } from 'ajv/dist/2019.js'
import type { Static, TSchema } from 'typebox'
import { Check } from 'typebox/schema'
import { loadAjv } from '../validation/load-ajv.ts'
import { reportErrors } from './check-shape.ts'
import type { Report } from './report.ts'

/** Reports every unknown, missing or invalid entry; returns true if there is none. */
export function checkDocument<T extends TSchema> (
  schema: T, value: unknown, report: Report
): value is Static<T> {
  if (Check(schema, value)) return true
  reportErrors(errorsOf(schema, value), value, report)
  return false
}

function errorsOf (schema: TSchema, value: unknown): ErrorObject[] {
  const check = new (loadAjv())({
    allErrors: true,
    verbose: true,
    meta: false,
    validateSchema: false
  }).compile(schema)
  check(value)
  return check.errors ?? []
}
