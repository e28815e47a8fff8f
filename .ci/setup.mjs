/**
 * Makes `npm start` and `npm test` work in a fresh clone: installs what is missing, compiles what
 * has changed, and is silent and done in some 50 ms when there is nothing to do.
 *
 *     node lib/setup.mjs            what running the gateway needs
 *     node lib/setup.mjs --tests    what the tests need as well
 *     node lib/setup.mjs --force    compile in any case
 *
 * Plain JavaScript and `node:` modules only, since it runs before anything is installed. A step
 * that fails stops everything with its own output.
 */

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const tests = process.argv.includes('--tests')
const force = process.argv.includes('--force')

const installStamp = join(root, 'node_modules/.headgate-stamp')
const buildStamp = join(root, 'build/.stamp')
const lock = join(root, '.setup.lock')
let locked = false

/** With the development dependencies everything is compiled; without them what production runs. */
const everything = { project: 'tsconfig.json', folders: ['lib', 'pipelines', 'schemas', 'test', 'bench', 'examples'] }
const production = { project: 'tsconfig.production.json', folders: ['lib', 'pipelines', 'schemas'] }

checkNode()
if (pending()) {
  takeLock()
  try {
    // Asked again inside: whoever held the lock before may have done it all.
    if (installNeeded()) install()
    if (force || buildNeeded()) await build()
    if (pluginsNeeded()) run('preparing the test runner', 'tap', ['build'])
  } finally {
    releaseLock()
  }
}

function checkNode () {
  const { engines } = JSON.parse(read('package.json'))
  const wanted = engines.node.replace(/[^\d.]/g, '')
  if (process.versions.node.localeCompare(wanted, 'en', { numeric: true }) >= 0) return
  stop(`Headgate needs Node.js ${wanted} or newer; this is ${process.versions.node}.`)
}

function pending () {
  return force || installNeeded() || buildNeeded() || pluginsNeeded()
}

// Dependencies

/** What the stamp says: the lock file it was made for, and whether anything is missing. */
function installed () {
  const hash = digest(read('package-lock.json'))
  const stamp = parse(readIfThere(installStamp))
  return stamp?.hash === hash ? stamp : inspect(hash)
}

/**
 * Compares what npm noted when it installed last with the lock file, so that an installation made
 * by hand is taken as it is, the one without development dependencies included.
 */
function inspect (hash) {
  const there = parse(readIfThere(join(root, 'node_modules/.package-lock.json')))?.packages ?? {}
  const stamp = { hash, runtime: true, development: true }
  const { packages } = JSON.parse(read('package-lock.json'))
  for (const [path, wanted] of Object.entries(packages)) {
    if (path === '' || wanted.optional || wanted.devOptional || wanted.link) continue
    if (there[path]?.version === wanted.version) continue
    if (wanted.dev) stamp.development = false
    else stamp.runtime = false
  }
  if (existsSync(join(root, 'node_modules'))) writeFileSync(installStamp, JSON.stringify(stamp))
  return stamp
}

function installNeeded () {
  const { runtime, development } = installed()
  return !runtime || (tests && !development)
}

/** No package gets to run a script of its own: none needs to. */
function install () {
  const options = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  run('installing dependencies', 'npm', tests ? [...options, '--include=dev'] : options)
  const { runtime } = inspect(digest(read('package-lock.json')))
  if (!runtime) stop('The installation is not complete: package-lock.json names packages that did not come.')
}

// Compilation

function buildNeeded () {
  return readIfThere(buildStamp) !== sources().hash
}

/** Everything the compiler reads, by name, size and time: reading it all would take longer. */
function sources () {
  const { project, folders } = installed().development ? everything : production
  const files = folders.flatMap(folder => walk(folder)).filter(file => /\.(ts|json)$/.test(file))
  const facts = [...files, 'tsconfig.json', project, 'package.json'].map(file => {
    const { size, mtimeMs } = statSync(join(root, file))
    return `${file} ${size} ${mtimeMs}`
  })
  return { project, folders, files: new Set(files), hash: digest(facts.join('\n')) }
}

async function build () {
  // Taken before: what changes while it compiles is compiled by the next run.
  const { project, folders, files, hash } = sources()
  if (force) rmSync(join(root, 'build/.tsbuildinfo'), { force: true })
  rmSync(buildStamp, { force: true })
  run('compiling', 'tsc', ['-p', project])
  for (const folder of folders) removeStale(join('build', folder), files)
  await import(pathToFileURL(join(root, 'build/lib/config/write-schema.js')).href)
  writeFileSync(buildStamp, hash)
}

/** A test that was deleted or renamed would run for ever from its last compilation. */
function removeStale (folder, files) {
  for (const output of walk(folder)) {
    const source = output.slice('build/'.length).replace(/\.(js(\.map)?|d\.ts)$/, '.ts')
    if (!files.has(source)) rmSync(join(root, output))
  }
}

// Tests

/** Without this the first run of tap in a fresh clone fails: it still has its default plugins. */
function pluginsNeeded () {
  return tests && !existsSync(join(root, '.tap/plugins'))
}

// One at a time: two installations in one folder would destroy each other's.

function takeLock () {
  for (let told = false; ; told = true) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' })
      locked = true
      return
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    const holder = Number(readIfThere(lock) || process.pid)
    if (!isRunning(holder)) rmSync(lock, { force: true })
    else if (!told) say(`waiting for another set-up (process ${holder})`)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
  }
}

function releaseLock () {
  if (locked) rmSync(lock, { force: true })
  locked = false
}

function isRunning (pid) {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error.code === 'EPERM'
  }
}

/** Runs a step; its output is shown only when it fails. */
function run (what, command, args) {
  say(what)
  const { PATH = '' } = process.env
  const bin = join(root, 'node_modules/.bin')
  const { status, signal, stdout, stderr, error } = spawnSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, PATH: `${bin}${process.platform === 'win32' ? ';' : ':'}${PATH}` },
    maxBuffer: 64 * 1024 * 1024,
    shell: process.platform === 'win32'
  })
  if (status === 0) return
  const ending = error?.message ?? (signal === null ? `exit code ${status}` : signal)
  stop(`${stdout ?? ''}${stderr ?? ''}headgate: ${what} failed: ${command} ${args.join(' ')} (${ending})`)
}

/** Every file below a folder, as paths from the root; none when there is no such folder. */
function walk (folder) {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap(entry => {
    const path = `${folder}/${entry.name}`
    return entry.isDirectory() ? walk(path) : [path]
  })
}

function read (file) {
  return readFileSync(join(root, file), 'utf8')
}

function readIfThere (path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}

function parse (text) {
  return text === '' ? undefined : JSON.parse(text)
}

function digest (text) {
  return createHash('sha256').update(text).digest('hex')
}

/** On standard error, so that what a command prints can be piped. */
function say (text) {
  process.stderr.write(`headgate: ${text} …\n`)
}

function stop (text) {
  releaseLock()
  process.stderr.write(`${text}\n`)
  process.exit(1)
}
