/** Prints warnings of the services on a terminal: sentences instead of JSON lines. */

import { createLog, type Log } from '../log/log.ts'
import type { Terminal } from '../process/terminal.ts'

/** Describes a failure during a command: a provider and its error. */
interface Warning {
  readonly provider: string
  readonly msg: string
  readonly error: string
}

export function terminalLog ({ error: printError }: Pick<Terminal, 'error'>): Log {
  return createLog('warn', {
    write: line => {
      const { provider, msg, error }: Warning = JSON.parse(line)
      printError(`${provider}  warning: ${msg}: ${error}`)
    }
  })
}
