/**
 * Shows the effect of attacks, failures and time on a running gateway: `npm run soak [-- --short] [--only
 * NAME]`.
 *
 * Each scenario starts real processes, attacks or breaks them for a limited time and prints a row with the
 * measurement for each promise. Ends with `N passed, N failed`, and exit code 1 if a promise was broken.
 */

import { availableParallelism, cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { disconnects } from './soak/disconnects.ts'
import { hostileProviders } from './soak/hostile-providers.ts'
import { hostileResponses } from './soak/hostile-responses.ts'
import { hostileToolServers } from './soak/hostile-tool-servers.ts'
import { kills } from './soak/kills.ts'
import { mutations } from './soak/mutations.ts'
import { slowConnections } from './soak/slow-connections.ts'
import { smallHeap } from './soak/small-heap.ts'
import { stalls } from './soak/stalls.ts'
import { stores } from './soak/stores.ts'
import { streams } from './soak/streams.ts'
import { unreliableProviders } from './soak/unreliable-providers.ts'

const { values: flags } = parseArgs({
  options: { short: { type: 'boolean', default: false }, only: { type: 'string', default: '' } }
})
const scenarios = [
  disconnects,
  streams,
  kills,
  stores,
  unreliableProviders,
  slowConnections,
  mutations,
  hostileProviders,
  hostileResponses,
  hostileToolServers,
  smallHeap,
  // Its limits are some tens of milliseconds, for a machine that does nothing else.
  ...(flags.short ? [] : [stalls])
]

console.log(
  `${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${cpus()[0]?.model.trim()}, ${availableParallelism()} cores\n`
)
console.log('| Scenario | Promise | Kept | Measured |\n| --- | --- | --- | --- |')
let [passed, failed] = [0, 0]
for (const { name, run } of scenarios) {
  if (!name.includes(flags.only)) continue
  for (const { promise, kept, measured } of await run(flags.short)) {
    console.log(`| ${name} | ${promise} | ${kept ? 'yes' : '**no**'} | ${measured.replaceAll('|', '\\|')} |`)
    if (kept) passed++
    else failed++
  }
}
console.log(`\n${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 && passed > 0 ? 0 : 1
