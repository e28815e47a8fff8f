/** `headgate check`: reports errors in a configuration, without starting anything. */

import { parseArgs } from 'node:util'
import { readSettings, type ReadSettings } from '../config/read-settings.ts'
import { noteEffects } from '../config/note-effects.ts'
import {
  ConfigError, formatNotes, formatProblems, formatWarnings, type Problem
} from '../config/problems.ts'
import { CommandError } from '../process/terminal.ts'
import type { Settings } from '../core/settings.ts'
import type { Command } from './command.ts'

export const check: Command = {
  usage: `Usage: headgate check [-c FILE] [--json]

Reads the configuration as "headgate start" would, and reports every problem in it. Warnings are
about entries that are valid but probably a mistake; notes say what valid entries do that is easy to
miss. Neither changes the exit code.

FILE defaults to HEADGATE_CONFIG, else to headgate.yaml if it exists.

  -c, --config FILE
  --json              print {"ok": true, ...} or {"ok": false, "problems": [...]}`,

  run: async (args, { env, cwd, out, error: printError }) => {
    // A file without its option, as in an earlier version.
    const {
      values: { config, json },
      positionals: [positional, ...others]
    } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { config: { type: 'string', short: 'c' }, json: { type: 'boolean', default: false } }
    })
    if (others.length > 0 || (config !== undefined && positional !== undefined)) {
      throw new CommandError('name one file: headgate check --config FILE', { exitCode: 2 })
    }
    const sources = { env, cwd, file: config ?? positional }
    const result = attempt(() => readSettings(sources))
    const warnings: readonly Problem[] = result.warnings
    if (!json) for (const warning of formatWarnings(warnings)) printError(warning)
    if (result instanceof ConfigError) {
      if (json)
        out(
          JSON.stringify(
            { ok: false, problems: result.problems satisfies readonly Problem[], warnings },
            null,
            2
          )
        )
      else printError(formatProblems(result))
      return 1
    }
    const { settings } = result
    const notes = noteEffects(sources, settings)
    out(
      json
        ? JSON.stringify({ ok: true, ...summary(settings), warnings, notes }, null, 2)
        : [sentence(settings), ...formatNotes(notes)].join('\n')
    )
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

function summary ({
  providers,
  catalogue,
  routes,
  toolServers,
  keys
}: Settings): Record<string, readonly string[]> {
  return {
    providers: providers.filter(({ enabled }) => enabled).map(({ id }) => id),
    catalogue:
      catalogue === undefined
        ? []
        : [`${catalogue.file} (${catalogue.models.length} models, ${catalogue.families.length} families)`],
    routes: routes.map(({ name }) => name),
    mcp_servers: toolServers.map(({ slug }) => slug),
    keys: keys.map(({ name }) => name)
  }
}

function sentence (settings: Settings): string {
  const lists = Object.entries(summary(settings)).filter(([, names]) => names.length > 0)
  return ['Configuration OK.', ...lists.map(([name, names]) => `  ${name}: ${names.join(', ')}`)].join('\n')
}
