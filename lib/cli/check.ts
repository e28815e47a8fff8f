/** `headgate check`: says what is wrong with a configuration, without starting anything. */

import { parseArgs } from 'node:util'
import { readSettings, type ReadSettings } from '../config/read-settings.ts'
import { ConfigError, formatProblems, formatWarnings, type Problem } from '../config/problems.ts'
import type { Settings } from '../core/settings.ts'
import type { Command } from './command.ts'

export const check: Command = {
  usage: `Usage: headgate check [FILE] [--json]

Reads the configuration as "headgate start" would, and says everything that is wrong with it.
Warnings are about what can be used as it is, but is hardly meant.
FILE: default HEADGATE_CONFIG, else headgate.yaml where there is one.

  --json   print {"ok": true, ...} or {"ok": false, "problems": [...]}`,

  run: async (args, { env, cwd, out, error: say }) => {
    const { values: { json }, positionals } = parseArgs({
      args: [...args], allowPositionals: true, options: { json: { type: 'boolean', default: false } }
    })
    const [file] = positionals
    const found = attempt(() => readSettings({ env, cwd, file }))
    const warnings: readonly Problem[] = found.warnings
    if (!json) for (const warning of formatWarnings(warnings)) say(warning)
    if (found instanceof ConfigError) {
      if (json) out(JSON.stringify({ ok: false, problems: found.problems satisfies readonly Problem[], warnings }, null, 2))
      else say(formatProblems(found))
      return 1
    }
    const { settings } = found
    out(json ? JSON.stringify({ ok: true, ...summary(settings), warnings }, null, 2) : sentence(settings))
    return 0
  }
}

function attempt (load: () => ReadSettings): ReadSettings | ConfigError {
  try {
    return load()
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
}

function summary ({ providers, routes, toolServers, keys }: Settings): Record<string, readonly string[]> {
  return {
    providers: providers.filter(({ enabled }) => enabled).map(({ id }) => id),
    routes: routes.map(({ name }) => name),
    mcp_servers: toolServers.map(({ slug }) => slug),
    keys: keys.map(({ name }) => name)
  }
}

function sentence (settings: Settings): string {
  const lists = Object.entries(summary(settings)).filter(([, names]) => names.length > 0)
  return ['The configuration is good.', ...lists.map(([name, names]) => `  ${name}: ${names.join(', ')}`)].join('\n')
}
