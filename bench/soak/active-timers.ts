/**
 * Preloaded into a gateway with `node --import`: writes the number of active timers to the file named by
 * `SOAK_FILE` whenever the process gets SIGUSR2.
 */

import { renameSync, writeFileSync } from 'node:fs'

const file = process.env['SOAK_FILE'] ?? '/dev/null'

process.on('SIGUSR2', () => {
  const timers = process.getActiveResourcesInfo().filter(name => name === 'Timeout')
  writeFileSync(`${file}.new`, JSON.stringify(timers.length))
  renameSync(`${file}.new`, file)
})
