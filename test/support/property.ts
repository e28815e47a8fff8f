import fc from 'fast-check'
import { rounds } from './rounds.ts'
import type { Test } from 'tap'

/**
 * Asserts that a property holds, for the share of values that `rounds` returns; a counterexample is the title
 * of the failure.
 */
export function holds<Values> (
  t: Test,
  property: fc.IProperty<Values>,
  parameters: fc.Parameters<Values> = {}
): void {
  const details = fc.check(property, shortened(parameters))
  t.notOk(details.failed, fc.defaultReportMessage(details) ?? `holds for ${details.numRuns} values`)
}

/** Asserts that an asynchronous property holds, as `holds` does. */
export async function holdsAsync<Values> (
  t: Test,
  property: fc.IAsyncProperty<Values>,
  parameters: fc.Parameters<Values> = {}
): Promise<void> {
  const details = await fc.check(property, shortened(parameters))
  t.notOk(details.failed, fc.defaultReportMessage(details) ?? `holds for ${details.numRuns} values`)
}

function shortened<Values> (parameters: fc.Parameters<Values>): fc.Parameters<Values> {
  return { ...parameters, numRuns: rounds(parameters.numRuns ?? 100) }
}
