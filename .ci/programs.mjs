/**
 * Runs the tests with real programs and with the newest clients for JavaScript, which need a newer Node.js than the
 * package. They are installed under the user's cache folder, and so is that Node.js:
 *
 *     node .ci/programs.mjs
 *     node .ci/programs.mjs --install     installs them only
 *
 * Exits with 69 where there are no programs for this kind of machine.
 */

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const packages = {
  '@ai-sdk/anthropic': '4.0.105',
  '@ai-sdk/openai': '4.0.118',
  '@anthropic-ai/sdk': '1.12.0',
  '@openai/agents': '0.20.0',
  '@openai/codex': '0.169.0',
  ai: '7.0.173',
  openai: '7.57.0',
  'opencode-ai': '1.18.33'
}
const tests = ['programs', 'responses', 'messages', 'ai-sdk'].map(name => `build/test/clients/${name}.test.js`)
const unavailable = 69

const root = dirname(dirname(fileURLToPath(import.meta.url)))
if (process.platform !== 'linux' || !['x64', 'arm64'].includes(process.arch)) stop(unavailable, `There are no programs for ${process.platform}-${process.arch}.`)
const manifest = JSON.stringify({ private: true, dependencies: packages })
const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'headgate')
const folder = join(cache, `programs-${createHash('sha256').update(manifest).digest('hex').slice(0, 8)}`)
if (!existsSync(folder)) install()

const { status: found, stdout: path } = spawnSync(process.execPath, [join(root, '.ci/node.mjs'), '24', '--path'], { encoding: 'utf8' })
if (found !== 0) stop(1, 'Node.js 24 could not be installed.')
if (process.argv.includes('--install')) process.exit()
const env = {
  ...process.env,
  PATH: path.trim() + delimiter + (process.env.PATH ?? ''),
  HEADGATE_TEST_PROGRAMS: folder,
  NODE_OPTIONS: `--import=${pathToFileURL(join(root, '.ci/newest-clients.mjs')).href}`
}
const tap = [join(root, 'node_modules/.bin/tap'), '--disable-coverage', ...tests]
const { status } = spawnSync(...isolated(tap), { cwd: root, stdio: 'inherit', env })
process.exit(status ?? 1)

/** Puts a command in a network of its own, in which there is loopback only, where that is allowed. */
function isolated ([command, ...args]) {
  const script = 'ip link set lo up && exec "$@"'
  const wrapped = ['--user', '--map-root-user', '--net', 'sh', '-c', script, 'sh']
  return spawnSync('unshare', [...wrapped, 'true']).status === 0 ? ['unshare', [...wrapped, command, ...args]] : [command, args]
}

/** Installs all or nothing: a folder that is there is complete. */
function install () {
  const partial = `${folder}.${process.pid}`
  mkdirSync(partial, { recursive: true })
  writeFileSync(join(partial, 'package.json'), manifest)
  // No package runs a script of its own; the programs are binaries inside the packages.
  const { status } = spawnSync('npm', ['install', '--silent', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock'], { cwd: partial, stdio: 'inherit', timeout: 300_000 })
  if (status !== 0) {
    rmSync(partial, { recursive: true, force: true })
    stop(1, 'The programs could not be installed.')
  }
  renameSync(partial, folder)
}

function stop (code, message) {
  process.stderr.write(`${message}\n`)
  process.exit(code)
}
