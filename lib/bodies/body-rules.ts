/** Finds which bodies are kept of the calls of a key. */

import { endUserFields } from '../validation/attribution.ts'
import { projectNamesOf, type ApiKey } from '../core/key.ts'
import { Redaction } from './redaction.ts'
import type { CaptureRule } from './call-capture.ts'
import type { Settings } from '../core/settings.ts'
import type { Role } from '../../schemas/admin/common.ts'

export interface BodyRule {
  readonly keepMs: number
  readonly maxBytes: number
  /** The minimum role for reading them. */
  readonly readableBy: Role
  readonly redaction: Redaction
}

/** Returns what is kept of one call. */
export interface CallRule extends BodyRule, CaptureRule {
  readonly projectId: string
}

/** The settings with these rules. */
export type KeptBodies = Pick<Settings['calls'], 'keepBodies'> & Pick<Settings, 'endUsers'>

/** Stands for every project without a rule. */
export const anyProject = '*'

/** Lists of models are the same for every call. */
const endpointsWithout: ReadonlySet<string> = new Set(['models'])

/** Returns true for an endpoint whose calls have bodies worth keeping. */
export function hasBodies (endpoint: string): boolean {
  return !endpointsWithout.has(endpoint)
}

/**
 * Returns a function that finds the rule for the project of a key: by its id, by its name, or the rule for
 * all others.
 */
export function bodyRules (
  { keepBodies, endUsers }: KeptBodies
): (key: ApiKey) => BodyRule | undefined {
  // A digest on the record would hide nothing if the body has the name.
  const hidden = endUsers.store === 'hashed' ? endUserFields : []
  const rules = new Map(
    keepBodies.map(({ project, redact: { fields, patterns }, ...rule }) => [
      project,
      { ...rule, redaction: new Redaction({ fields: [...fields, ...hidden], patterns }) }
    ])
  )
  return key => {
    const [id, name] = projectNamesOf(key)
    return rules.get(id) ?? rules.get(name) ?? rules.get(anyProject)
  }
}
