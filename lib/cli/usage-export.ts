/** `headgate usage export`: prints the usage rows. */

import { parseArgs } from 'node:util'
import { loadSettings } from '../config/read-settings.ts'
import { createLog } from '../log/log.ts'
import { openDatabase } from '../stores/open-database.ts'
import { exportFormats, exportUsage, type ExportFormat } from '../usage/export-usage.ts'
import { CommandError, type ExitCode, type Terminal } from '../process/terminal.ts'
import type { Settings } from '../core/settings.ts'
import { momentOf } from './parse-date.ts'

const options = {
  config: { type: 'string', short: 'c' },
  format: { type: 'string', default: 'jsonl' },
  since: { type: 'string', default: '30d' },
  until: { type: 'string', default: '0h' },
  now: { type: 'boolean', default: false }
} as const

/**
 * Prints as fast as the output is read, and ends when its reader does; or writes the files of the
 * configuration.
 */
export async function usageExport (
  args: readonly string[],
  { stream, ...terminal }: Terminal
): Promise<ExitCode> {
  const {
    values: { config, format, since, until, now }
  } = parseArgs({ args: [...args], options })
  if (now) return await exportNow(loadSettings({ ...terminal, file: config }), terminal)
  if (!isFormat(format)) {
    throw new CommandError(`--format must be ${Object.keys(exportFormats).join(' or ')}, not "${format}"`, {
      exitCode: 2
    })
  }
  const period = { fromMs: momentOf('--since', since), untilMs: momentOf('--until', until) }
  const database = await openDatabase(loadSettings({ ...terminal, file: config }))
  try {
    await stream(exportUsage(database.query, period, format))
  } finally {
    await database.close()
  }
  return 0
}

/** Writes the due files of `usage.exports`, like a gateway does by itself. */
async function exportNow (
  settings: Settings,
  { out, error }: Pick<Terminal, 'out' | 'error'>
): Promise<ExitCode> {
  if (Object.keys(settings.usage.exports).length === 0) {
    throw new CommandError('the configuration exports no usage: add a target to usage.exports')
  }
  const { openExports } = await import('../exports/open-exports.ts')
  const database = await openDatabase(settings)
  const exports = openExports(settings, { database, log: createLog('silent') })
  try {
    await exports.run()
    for (const [target, { written }] of exports.counts) out(`${target}: wrote ${written} files`)
    for (const [target, failure] of exports.failures) error(`${target}: ${failure}`)
    return exports.failures.size > 0 ? 1 : 0
  } finally {
    await exports.close()
    await database.close()
  }
}

function isFormat (text: string): text is ExportFormat {
  return Object.hasOwn(exportFormats, text)
}
