/** `headgate models`: lists the models that callers of this gateway can use. */

import { parseArgs } from 'node:util'
import { loadSettings } from '../config/read-settings.ts'
import type { ModelEntry } from '../core/model.ts'
import { createLookupServices } from '../create-services.ts'
import type { Command } from './command.ts'
import { table } from './table.ts'
import { terminalLog } from './terminal-log.ts'
import { withTimeout } from '../async/with-timeout.ts'

const listTimeoutMs = 5_000

export const models: Command = {
  usage: `Usage: headgate models [-c FILE] [--json]

Lists the models of all enabled providers: those of the catalogue and the configuration, and those that
providers list themselves within five seconds.

  -c, --config FILE
  --json`,

  run: async (args, terminal) => {
    const { values: { config: file, json } } = parseArgs({
      args: [...args],
      options: { config: { type: 'string', short: 'c' }, json: { type: 'boolean', default: false } }
    })
    const settings = loadSettings({ ...terminal, file })
    const services = createLookupServices(settings, { log: terminalLog(terminal) })
    try {
      await withTimeout(listTimeoutMs, services.listed)
      const entries = services.models.list()
      if (json) terminal.out(JSON.stringify(entries, null, 2))
      else if (entries.length === 0) terminal.out('No models: no provider is enabled.')
      else
        terminal.out(
          table([['MODEL', 'STATUS', '$/M INPUT', '$/M OUTPUT', 'CAPABILITIES'], ...entries.map(row)])
        )
      return 0
    } finally {
      await services.close()
    }
  }
}

function row ({ id, status, capabilities, price }: ModelEntry): string[] {
  const supported = Object.entries(capabilities).filter(([, value]) => value === true).map(([name]) => name)
  const usd = (value: number | undefined): string => value === undefined ? '' : String(value)
  return [id, status, usd(price?.input), usd(price?.output), supported.join(' ')]
}
