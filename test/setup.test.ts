import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { plainNode } from './support/plain-node.ts'

const root = join(import.meta.dirname, '../..')

/** A project of two files without dependencies, set up by our script. */
function project (t: Test): string {
  const directory = t.testdir({
    'package.json': '{"name": "p", "type": "module", "engines": {"node": ">=18"}}',
    'package-lock.json': '{"lockfileVersion": 3, "packages": {"": {}}}',
    'tsconfig.json': JSON.stringify({
      compilerOptions: {
        module: 'nodenext',
        target: 'es2022',
        types: [],
        rootDir: '.',
        outDir: 'build',
        strict: true
      },
      include: ['lib', 'test']
    }),
    lib: {
      config: { 'editor-schema.ts': "export const jsonSchema = (): object => ({ type: 'object' })\n" }
    },
    test: { 'old.test.ts': 'export const old: number = 1\n' },
    '.tap': { plugins: {} }
  })
  cpSync(join(root, '.ci/setup.mjs'), join(directory, '.ci/setup.mjs'))
  mkdirSync(join(directory, 'node_modules/.bin'), { recursive: true })
  symlinkSync(join(root, 'node_modules/.bin/tsc'), join(directory, 'node_modules/.bin/tsc'))
  return directory
}

function setup (
  directory: string, args: readonly string[] = [], nodeArgs: readonly string[] = []
): { code: number | null, error: string } {
  const [command, parameters] = plainNode(...nodeArgs, join(directory, '.ci/setup.mjs'), ...args)
  const { status, stderr } = spawnSync(command, parameters, { encoding: 'utf8' })
  return { code: status, error: stderr }
}

t.test('setup compiles what has changed, and prints nothing when nothing has', async t => {
  const directory = project(t)
  t.same(setup(directory), { code: 0, error: 'headgate: compiling …\n' })
  t.ok(existsSync(join(directory, 'build/test/old.test.js')))
  t.equal(readFileSync(join(directory, 'build/headgate.schema.json'), 'utf8'), '{\n  "type": "object"\n}\n')
  t.same(setup(directory, ['--tests']), { code: 0, error: '' })

  rmSync(join(directory, 'test/old.test.ts'))
  writeFileSync(join(directory, 'test/new.test.ts'), 'export const fresh = 1\n')
  t.same(setup(directory), { code: 0, error: 'headgate: compiling …\n' })
  t.notOk(existsSync(join(directory, 'build/test/old.test.js')), 'output without a source is deleted')
  t.ok(existsSync(join(directory, 'build/test/new.test.js')))
  t.same(setup(directory, ['--force']), { code: 0, error: 'headgate: compiling …\n' })
})

t.test('a step that fails stops the setup with its output, and is retried next time', async t => {
  const directory = project(t)
  writeFileSync(join(directory, 'test/bad.test.ts'), "export const bad: number = 'text'\n")
  for (const time of ['first', 'second']) {
    const { code, error } = setup(directory)
    t.equal(code, 1, time)
    t.match(error, /bad\.test\.ts.*TS2322[^]*headgate: compiling failed: tsc/)
  }
  t.notOk(existsSync(join(directory, '.setup.lock')))
})

t.test('the lock of a killed setup is taken over', async t => {
  const directory = project(t)
  const { pid } = spawnSync(process.execPath, ['-e', ''])
  writeFileSync(join(directory, '.setup.lock'), String(pid))
  t.match(setup(directory), { code: 0 })
})

t.test('an old version of Node.js is reported', async t => {
  const directory = project(t)
  writeFileSync(join(directory, 'package.json'), '{"engines": {"node": ">=99.1.0"}}')
  t.same(setup(directory), {
    code: 1, error: `headgate: Node.js 99.1.0 or newer is required; this is ${process.versions.node}.\n`
  })
})

t.test('development dependencies are needed to compile, not to run the compiled code', async t => {
  const directory = project(t)
  const missing = {
    lockfileVersion: 3,
    packages: { '': {}, 'node_modules/x': { version: '1.0.0', dev: true } }
  }
  writeFileSync(join(directory, 'package-lock.json'), JSON.stringify(missing))
  const npm = join(directory, 'node_modules/.bin/npm')
  writeFileSync(npm, '#!/bin/sh\necho "no registry today"\nexit 7\n', { mode: 0o755 })
  const failure = {
    code: 1,
    error:
      'headgate: installing dependencies …\nno registry today\nheadgate: installing dependencies failed: ' +
      'npm ci --include=dev --ignore-scripts --no-audit --no-fund --loglevel=error (exit code 7)\n'
  }
  t.same(setup(directory), failure)

  const installed = join(directory, 'node_modules/.package-lock.json')
  writeFileSync(installed, JSON.stringify({ packages: { 'node_modules/x': { version: '1.0.0' } } }))
  t.same(setup(directory), { code: 0, error: 'headgate: compiling …\n' })
  rmSync(installed)
  t.same(setup(directory), { code: 0, error: '' })
  t.same(setup(directory, ['--tests']), failure)
})

t.test('a folder that is not writable is named', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'read-only-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  cpSync(project(t), directory, { recursive: true, verbatimSymlinks: true })
  chmodSync(directory, 0o555)
  // Root ignores file permissions, so the child switches to another user, who may not see the folder of
  // Node.js.
  const user =
    process.getuid?.() === 0
      ? ['--import', 'data:text/javascript,process.setgid(65534);process.setuid(65534)']
      : []
  t.same(setup(realpathSync(directory), [], user), {
    code: 1,
    error: `headgate: the project must be installed and compiled first, but ${realpathSync(directory)} cannot be written to (EACCES).\n`
  })
})
