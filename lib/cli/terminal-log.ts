/** Warnings of the services, for whoever started a command: sentences, not lines of JSON. */

import { createLog, type Log } from '../telemetry/log.ts'
import type { Terminal } from '../process/terminal.ts'

/** What commands can come upon: a provider, and what went wrong with it. */
interface Warning {
  readonly provider: string
  readonly msg: string
  readonly error: string
}

export function terminalLog ({ error: say }: Pick<Terminal, 'error'>): Log {
  return createLog('warn', {
    write: line => {
      const { provider, msg, error }: Warning = JSON.parse(line)
      say(`${provider}  warning: ${msg}: ${error}`)
    }
  })
}
