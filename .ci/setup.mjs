/**
 * Makes `npm start` and `npm test` work in a fresh clone: installs what is missing, compiles what
 * has changed, and ends within 100 ms when there is nothing to do.
 *
 *     node .ci/setup.mjs            for running the gateway
 *     node .ci/setup.mjs --tests    for the tests as well
 *     node .ci/setup.mjs --force    compiles in any case
 *
 * Plain JavaScript and `node:` modules only, since it runs before anything is installed. A step
 * that fails stops everything with its own output.
 */

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const tests = process.argv.includes('--tests')
const force = process.argv.includes('--force')

const stamp = join(root, 'build/.stamp')
const lock = join(root, '.setup.lock')
const folders = ['lib', 'pipelines', 'schemas', 'test', 'bench', 'examples']

checkNode()
if (Object.values(pending()).includes(true)) {
  takeLock()
  try {
    // Looked at again: the process that had the lock may have done it all.
    const { install, compile, plugins } = pending()
    // No package runs a script of its own: none needs to.
    if (install) run('installing dependencies', 'npm', ['ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'])
    if (compile) await build()
    // Without this the first run of tap in a fresh clone fails: it still has its default plugins.
    if (plugins) run('preparing the test runner', 'tap', ['build'])
  } finally {
    rmSync(lock, { force: true })
  }
}

function checkNode () {
  const wanted = JSON.parse(read('package.json')).engines.node.replace(/[^\d.]/g, '')
  if (process.versions.node.localeCompare(wanted, 'en', { numeric: true }) >= 0) return
  stop(`headgate: Node.js ${wanted} or newer is required; this is ${process.versions.node}.`)
}

function pending () {
  const compile = force || readIfThere(stamp) !== sources().hash
  return {
    install: !isInstalled(compile || tests),
    compile,
    plugins: tests && !existsSync(join(root, '.tap/plugins'))
  }
}

/**
 * Compares what npm noted when it installed last with the lock file, so that an installation made
 * by hand is taken as it is. The compiler is a development dependency, so one without them is
 * enough only while there is nothing to compile.
 */
function isInstalled (withDevelopment) {
  const present = JSON.parse(readIfThere(join(root, 'node_modules/.package-lock.json')) || '{}').packages ?? {}
  return Object.entries(JSON.parse(read('package-lock.json')).packages).every(([path, wanted]) => {
    if (path === '' || wanted.optional || wanted.devOptional || wanted.link) return true
    return present[path]?.version === wanted.version || (wanted.dev && !withDevelopment)
  })
}

/** Returns everything the compiler reads, by name, size and time: reading it all would take longer. */
function sources () {
  const files = folders.flatMap(walk).filter(file => /\.(tsx?|json|css|html|svg)$/.test(file))
  const facts = [...files, 'tsconfig.json', 'package.json', '.ci/bundle.mjs', '.ci/bundle-page.mjs'].filter(file => existsSync(join(root, file))).map(file => {
    const { size, mtimeMs } = statSync(join(root, file))
    return `${file} ${size} ${mtimeMs}`
  })
  return { files: new Set(files), hash: createHash('sha256').update(facts.join('\n')).digest('hex') }
}

async function build () {
  // Taken before: what changes while it compiles is compiled by the next run.
  const { files, hash } = sources()
  rmSync(stamp, { force: true })
  if (force) rmSync(join(root, 'build/.tsbuildinfo'), { force: true })
  run('compiling', 'tsc', ['-p', '.'])
  removeStale(files)
  const { jsonSchema } = await import(pathToFileURL(join(root, 'build/lib/config/editor-schema.js')).href)
  writeFileSync(join(root, 'build/headgate.schema.json'), `${JSON.stringify(jsonSchema(), null, 2)}\n`)
  if (existsSync(join(root, '.ci/bundle.mjs'))) run('bundling', process.execPath, ['.ci/bundle.mjs'])
  writeFileSync(stamp, hash)
}

/** Deletes output without a source: a deleted or renamed test would run for ever. */
function removeStale (files) {
  for (const output of folders.flatMap(folder => walk(`build/${folder}`))) {
    const source = output.slice('build/'.length).replace(/\.(js(\.map)?|d\.ts)$/, '.ts')
    if (!files.has(source)) rmSync(join(root, output))
  }
}

/** Waits until no other runs: two installations in one folder would destroy each other's files. */
function takeLock () {
  for (let logged = false; ; logged = true) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' })
      return
    } catch (error) {
      if (error.code !== 'EEXIST') stop(`headgate: the project must be installed and compiled first, but ${root} cannot be written to (${error.code}).`)
    }
    const holder = Number(readIfThere(lock) || process.pid)
    if (!isRunning(holder)) rmSync(lock, { force: true })
    else if (!logged) say(`waiting for another setup (process ${holder})`)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
  }
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
  const { status, signal, stdout, stderr, error } = spawnSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, PATH: join(root, 'node_modules/.bin') + delimiter + (process.env.PATH ?? '') },
    maxBuffer: 64 * 1024 * 1024,
    shell: process.platform === 'win32'
  })
  if (status === 0) return
  rmSync(lock, { force: true })
  const ending = error?.message ?? (signal === null ? `exit code ${status}` : signal)
  stop(`${stdout ?? ''}${stderr ?? ''}headgate: ${what} failed: ${command} ${args.join(' ')} (${ending})`)
}

/** Returns every file below a folder, as paths from the root; none when there is no such folder. */
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

/** Prints on standard error, so that what a command prints can be piped. */
function say (text) {
  process.stderr.write(`headgate: ${text} …\n`)
}

function stop (text) {
  process.stderr.write(`${text}\n`)
  process.exit(1)
}
