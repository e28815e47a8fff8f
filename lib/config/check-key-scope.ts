/**
 * Checks what a key of the store may use against the configuration, which names the providers, the tool
 * servers and the stages.
 */

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
 * Returns what would be a problem or a warning of a key in the configuration, with `models[0]`,
 * `mcp_servers[0]` or `stages[0]` as its path. All are warnings: the configuration may get these names later.
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
