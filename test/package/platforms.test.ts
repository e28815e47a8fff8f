/**
 * Checks the native code of the dependencies for each platform of the image. `.ci/run` also installs them for
 * both.
 */

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { plainCommand } from '../support/plain-node.ts'

const root = join(import.meta.dirname, '../../..')

function look (...args: readonly string[]): { status: number | null, stdout: string, stderr: string } {
  const [command, parameters] = plainCommand('node', '.ci/platforms.mjs', ...args)
  return spawnSync(command, parameters, { cwd: root, encoding: 'utf8' })
}

/** Returns the beginning of an ELF file for a processor. */
function elf (machine: number): Buffer {
  const header = Buffer.alloc(64)
  header.write('\x7fELF', 'latin1')
  header.writeUInt16LE(machine, 18)
  return header
}

const [x64, arm64] = [elf(0x3e), elf(0xb7)]

t.test('only a package with native code for another processor is reported', async t => {
  const folder = t.testdir({
    'both': { prebuilds: { 'linux-x64': { 'a.node': x64 }, 'linux-arm64': { 'a.node': arm64 } } },
    '@scope': { 'for-x64': { lib: { 'b.so.1': x64 } } },
    'outer': { node_modules: { inner: { 'c.node': arm64 } } },
    'plain': { 'index.js': 'export {}', 'empty': '' }
  })
  t.match(look('--folder', folder, '--cpu', 'x64'), {
    status: 1,
    stderr: 'platforms: no native code for x64 in inner.\n'
  })
  t.match(look('--folder', folder, '--cpu', 'arm64'), {
    status: 1,
    stderr: 'platforms: no native code for arm64 in @scope/for-x64.\n'
  })
  t.match(look('--folder', join(folder, 'outer'), '--cpu', 'arm64'), {
    status: 0,
    stdout: 'arm64: inner\n'
  })
  t.match(look('--folder', folder, '--cpu', 'ppc64'), { status: 1, stderr: /must be x64 or arm64/ })
})

t.test('a release stops if a platform of the image lacks native code', async t => {
  const script = readFileSync(join(root, '.ci/release.mjs'), 'utf8')
  t.match(script, "run(root, process.execPath, '.ci/platforms.mjs')")
  t.match(readFileSync(join(root, '.ci/run'), 'utf8'), 'node .ci/platforms.mjs')
  const file = readFileSync(join(root, 'examples/deployment/Dockerfile'), 'utf8')
  const steps = file.split('\n').filter(line => !line.startsWith('#')).join('\n')
  t.notMatch(steps, /amd64|x86|arm64|aarch64|TARGETARCH|uname/, 'no step of the image is for one processor')
})
