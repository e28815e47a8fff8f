/** Builds the schema of the store, in numbered steps. */

import { accountSteps } from './migrations/account-steps.ts'
import { alertSteps } from './migrations/alert-steps.ts'
import { bodySteps } from './migrations/body-steps.ts'
import { budgetSteps } from './migrations/budget-steps.ts'
import { deferredSteps } from './migrations/deferred-steps.ts'
import { exportSteps } from './migrations/export-steps.ts'
import { keySteps } from './migrations/key-steps.ts'
import type { Migration } from './migrations/migration.ts'
import { responseSteps } from './migrations/response-steps.ts'
import { usageSteps } from './migrations/usage-steps.ts'

/** All steps in order, across all tables. */
export const migrations: readonly Migration[] = [
  ...accountSteps,
  ...alertSteps,
  ...bodySteps,
  ...budgetSteps,
  ...deferredSteps,
  ...exportSteps,
  ...keySteps,
  ...responseSteps,
  ...usageSteps
].toSorted((a, b) => a.number - b.number)

export function lastNumber (steps: readonly Migration[]): number {
  return steps.at(-1)?.number ?? 0
}

/** Returns the error for a store that is newer than this program. */
export function newerVersion (found: number, newest: number): Error {
  return new Error(`it was created by a newer version (step ${found} of ${newest})`)
}
