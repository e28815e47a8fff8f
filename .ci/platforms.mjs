/**
 * Installs what the image has for each of its platforms, on any machine, and reads the header of every native file:
 * each package with native code must have some for that processor. Nothing of it is run.
 *
 *     node .ci/platforms.mjs                        installs from the lock file, for amd64 and arm64
 *     node .ci/platforms.mjs --folder DIR --cpu CPU looks at the packages that are in DIR
 *
 * Prints the packages with native code for each processor, in the names of Node.js. Exits with 1 where one is missing.
 */

import { execFileSync } from 'node:child_process'
import { closeSync, copyFileSync, mkdtempSync, openSync, readSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

/** Values of `e_machine` in an ELF header. */
const machines = { x64: 0x3e, arm64: 0xb7 }

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const { values: { folder, cpu } } = parseArgs({ options: { folder: { type: 'string' }, cpu: { type: 'string' } } })
if (cpu !== undefined && machines[cpu] === undefined) stop(`platforms: --cpu must be ${Object.keys(machines).join(' or ')}.`)

for (const each of cpu === undefined ? Object.keys(machines) : [cpu]) {
  const names = folder === undefined ? installed(each) : withNativeCode(folder, each)
  process.stdout.write(`${each}: ${names.join(', ')}\n`)
}

/** Installs the dependencies of the package for a processor. @returns the packages with native code */
function installed (cpu) {
  const scratch = mkdtempSync(join(tmpdir(), 'headgate-platform-'))
  try {
    for (const file of ['package.json', 'package-lock.json', '.npmrc']) copyFileSync(join(root, file), join(scratch, file))
    const options = ['--omit=dev', '--ignore-scripts', '--prefer-offline', '--os=linux', `--cpu=${cpu}`, '--libc=glibc']
    execFileSync('npm', ['ci', ...options], { cwd: scratch, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
    return withNativeCode(join(scratch, 'node_modules'), cpu)
  } catch (error) {
    return stop(`platforms: npm ci for ${cpu}: ${error.stderr || error.message}`)
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** Lists the packages that have native files for Linux. @param modules a `node_modules` */
function withNativeCode (modules, cpu) {
  const found = new Map()
  for (const entry of readdirSync(modules, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    const machine = machineOf(path)
    if (machine === undefined) continue
    const name = packageOf(relative(modules, path))
    found.set(name, [...found.get(name) ?? [], machine])
  }
  const missing = [...found].flatMap(([name, of]) => of.includes(machines[cpu]) ? [] : [name])
  if (missing.length > 0) stop(`platforms: no native code for ${cpu} in ${missing.join(', ')}.`)
  return [...found.keys()].toSorted()
}

/** Returns the processor of an ELF file; `undefined` for any other file. */
function machineOf (path) {
  const header = Buffer.alloc(20)
  const file = openSync(path)
  readSync(file, header, 0, header.length, 0)
  closeSync(file)
  return header.toString('latin1', 0, 4) === '\x7fELF' ? header.readUInt16LE(18) : undefined
}

/** Returns the package that a file is of, which may be inside another one. */
function packageOf (path) {
  const parts = path.split(sep)
  const start = parts.lastIndexOf('node_modules') + 1
  return parts.slice(start, start + (parts[start].startsWith('@') ? 2 : 1)).join('/')
}

function stop (message) {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}
