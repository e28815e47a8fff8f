/** Checks the scope of a stored key against the providers, tool servers and guards of the configuration. */

import { checkServerScope, checkGuardNames } from './check-cross-references.ts'
import { checkModelScope } from './check-models.ts'
import { emptyDocument } from './config-document.ts'
import { createReport } from './report.ts'
import type { Problem } from './problems.ts'
import type { CheckedConfig } from './read-settings.ts'

export interface KeyScope {
  readonly models?: readonly string[] | undefined
  readonly mcpServers?: readonly string[] | undefined
  readonly stages?: readonly string[] | undefined
}

/**
 * Returns what would be problems or warnings of a key in the configuration, with `models[0]`,
 * `mcp_servers[0]` or `stages[0]` as path. All are warnings, because the configuration may add these names
 * later.
 */
export function checkKeyScope (
  { models = [], mcpServers = [], stages = [] }: KeyScope,
  { config, known }: CheckedConfig
): readonly Problem[] {
  const report = createReport(emptyDocument('key'), new Map())
  const warning = { ...report, add: report.warn }
  checkModelScope(['models'], models, config, known, warning)
  checkServerScope(['mcp_servers'], mcpServers, config, warning)
  checkGuardNames(['stages'], stages, config, warning)
  return report.warnings()
}
