/**
 * Runs the Portkey gateway for comparison: `npm run bench:portkey`. It is not a dependency and is installed
 * in the user's cache folder.
 */

import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const version = '1.15.2'
const folder = join(
  process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
  'headgate',
  `portkey-${version}`
)
/** Later releases of hono cannot stream on Node.js 20. */
const packages = [
  `@portkey-ai/gateway@${version}`, 'hono@4.9.7', '@hono/node-server@1.13.5', '@hono/node-ws@1.2.0'
]

export const portkeyEntry = join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js')

/** Installs it through npm, without running package scripts. */
export function installPortkey (): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
  const { status } = spawnSync(
    'npm',
    ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...packages],
    {
      cwd: folder,
      stdio: 'inherit'
    }
  )
  if (status !== 0) throw new Error('npm could not install Portkey')
}

if (process.argv[1] === fileURLToPath(import.meta.url)) installPortkey()
