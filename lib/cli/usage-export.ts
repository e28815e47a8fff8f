/** `headgate usage export`: prints the usage records. */

import { parseArgs } from 'node:util'
import { loadSettings } from '../config/read-settings.ts'
import { openDatabase } from '../stores/open-database.ts'
import { exportFormats, exportUsage, type ExportFormat } from '../usage/export-usage.ts'
import { CommandError, type ExitCode, type Terminal } from '../process/terminal.ts'
import { momentOf } from './parse-date.ts'

const options = {
  config: { type: 'string', short: 'c' },
  format: { type: 'string', default: 'jsonl' },
  since: { type: 'string', default: '30d' },
  until: { type: 'string', default: '0h' }
} as const

/** Prints as fast as the output is read, and ends when its reader does. */
export async function usageExport (
  args: readonly string[],
  { stream, ...terminal }: Terminal
): Promise<ExitCode> {
  const {
    values: { config, format, since, until }
  } = parseArgs({ args: [...args], options })
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

function isFormat (text: string): text is ExportFormat {
  return Object.hasOwn(exportFormats, text)
}
