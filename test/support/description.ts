/**
 * Compares provider requests with the provider's own description of its API. The descriptions are not part of
 * this repository: without them beside the checkout these comparisons are skipped.
 */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv, type ValidateFunction } from 'ajv'
import t from 'tap'

export interface Description {
  /** Tests that this value matches the API's schema of that name. */
  readonly check: (definition: string, value: unknown, name: string) => void
  readonly validator: (definition: string) => ValidateFunction
}

/** True once the running file is skipped. */
let isSkipped = false

/** Returns the description in this file; without it the tests of the running file are skipped. */
export function description (file: string): Description | undefined {
  const path = join(import.meta.dirname, '../../../../shared/specs', file)
  if (!existsSync(path)) {
    if (!isSkipped) t.plan(0, `skipped: there is no ../shared/specs/${file}`)
    isSkipped = true
    return undefined
  }
  const schemas = JSON.parse(readFileSync(path, 'utf8')) as { $id: string } // a JSON Schema
  const ajv = new Ajv({ strict: true, allErrors: true, validateFormats: false }).addSchema(schemas)
  const validator = (definition: string): ValidateFunction => {
    const validate = ajv.getSchema(`${schemas.$id}#/definitions/${definition}`)
    if (validate === undefined) throw new Error(`${file} has no ${definition}`)
    return validate
  }
  return {
    validator,
    check: (definition, value, name) => {
      const validate = validator(definition)
      t.ok(validate(value), `${definition}: ${name}`, {
        errors: validate.errors,
        value: JSON.stringify(value)?.slice(0, 2000)
      })
    }
  }
}
