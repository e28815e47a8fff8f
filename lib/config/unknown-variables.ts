/**
 * Finds variables that look like the gateway's but are not: `HEADGATE_PORT` instead of `PORT` would otherwise
 * be ignored silently.
 */

import { nearestWord } from '../text/nearest-word.ts'
import { keyVariable, variables } from './environment.ts'
import type { Report } from './report.ts'

const prefix = 'HEADGATE_'

/**
 * Variables of the project's tests, and those that Kubernetes sets in every container for services whose
 * names begin with `headgate`: `HEADGATE_SERVICE_HOST`, `HEADGATE_PORT_8080_TCP_ADDR`,
 * `HEADGATE_PORT=tcp://10.0.0.1:8080`.
 */
const ofOthers = /^HEADGATE_(?:TEST_|(?:\w+_)?SERVICE_(?:HOST|PORT)|(?:\w+_)?PORT_\d+_(?:TCP|UDP|SCTP))/
const serviceAddress = /^(?:tcp|udp|sctp):\/\//

/**
 * Warns about each variable with the prefix that is neither read nor referenced by the configuration.
 *
 * @param value the entries of the configuration, with their references (`env:NAME`)
 */
export function warnOfUnknownVariables (
  environment: ReadonlyMap<string, string>,
  value: unknown,
  report: Report
): void {
  const known = new Set<string>([...variables, keyVariable])
  const unknown = [...environment].flatMap(([name, value]) =>
    name.startsWith(prefix) && !known.has(name) && !ofOthers.test(name) && !serviceAddress.test(value)
      ? [name]
      : []
  )
  if (unknown.length === 0) return
  const byName = new Map([...known].map(name => [withoutPrefix(name), name] as const))
  const written = JSON.stringify(value)
  for (const variable of unknown) {
    if (written.includes(`"env:${variable}"`)) continue
    const meant = nearestWord(withoutPrefix(variable), byName.keys())
    report.warn([variable], 'unknown variable', { variable, suggestion: meant && byName.get(meant) })
  }
}

/** The shared prefix would make any two names similar. */
function withoutPrefix (name: string): string {
  return name.startsWith(prefix) ? name.slice(prefix.length) : name
}
