/**
 * Runs the tests, or another command, on another release line of Node.js, installed under the user's cache
 * folder when it is not there yet:
 *
 *     npm run test:node -- 24                          all tests
 *     npm run test:node -- 22 build/test/cli/*.js      some of them
 *     npm run test:node -- 26 --exec npm run bench:compare -- --quick
 *     node .ci/node.mjs 24 --path                      prints the folder of its `node`
 *
 * Exits with 69 where that Node.js cannot be had.
 */

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'

const versions = { 22: '22.23.3', 24: '24.21.0', 26: '26.10.0' }
const unavailable = 69

const [line, ...args] = process.argv.slice(2)
const version = versions[line]
if (version === undefined) stop(2, `Usage: npm run test:node -- ${Object.keys(versions).join('|')} [FILES | --exec COMMAND…]`)

const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
const folder = join(cache, 'headgate', `node-${version}`)
const system = `${process.platform}-${process.arch}`
const bin = join(folder, 'node_modules', `node-${system}`, 'bin')

if (!existsSync(join(bin, 'node'))) install()
if (args[0] === '--path') process.stdout.write(`${bin}\n`)
else {
  const [command, ...rest] = args[0] === '--exec' ? args.slice(1) : ['npm', 'test', '--', ...args]
  const env = { ...process.env, PATH: bin + delimiter + (process.env.PATH ?? '') }
  process.exit(spawnSync(command, rest, { stdio: 'inherit', env }).status ?? 1)
}

function install () {
  const options = ['--silent', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', folder]
  const { status } = spawnSync('npm', ['install', ...options, `node-${system}@${version}`], { stdio: 'inherit', timeout: 180_000 })
  if (status !== 0 || !existsSync(join(bin, 'node'))) stop(unavailable, `Node.js ${version} for ${system} cannot be installed.`)
}

function stop (code, message) {
  process.stderr.write(`${message}\n`)
  process.exit(code)
}
