/** Finds what is kept of the calls of a key. */

import { defaultProject, type ApiKey } from '../core/key.ts'
import { Redaction } from './redaction.ts'
import type { Secret } from '../core/secret.ts'
import type { Settings } from '../core/settings.ts'
import type { Role } from '../../schemas/admin/common.ts'

export interface BodyRule {
  readonly keepMs: number
  readonly maxBytes: number
  /** The least role that may read them. */
  readonly readableBy: Role
  readonly redaction: Redaction
}

/** Says what is kept of one call. */
export interface CallRule extends BodyRule {
  readonly projectId: string
  /** Secrets of the gateway, which must not show. */
  readonly secrets: readonly Secret[]
}

const anyProject = '*'

/**
 * Returns a function that finds the rule of the project of a key: by its id, by its name, or the one for all
 * others.
 */
export function bodyRules ({ keepBodies }: Settings['calls']): (key: ApiKey) => BodyRule | undefined {
  const rules = new Map(
    keepBodies.map(({ project, redact, ...rule }) => [
      project,
      { ...rule, redaction: new Redaction(redact) }
    ])
  )
  return ({ project }) =>
    rules.get(project?.id ?? defaultProject) ??
    rules.get(project?.name ?? defaultProject) ??
    rules.get(anyProject)
}

/** Returns the id of the project of a key. */
export function projectIdOf ({ project }: ApiKey): string {
  return project?.id ?? defaultProject
}
