import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { plainCommand } from '../support/plain-node.ts'
import { shortRun } from '../support/rounds.ts'

/** Packs the package as for a release, and uses it as a user would. */

const root = join(import.meta.dirname, '../../..')

/** Without the providers of the machine that runs the tests. */
const env = { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '' }

interface Manifest {
  readonly version: string
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, string>>
}

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest

interface Packed {
  readonly filename: string
  readonly size: number
  readonly files: ReadonlyArray<{ readonly path: string }>
}

const directory = t.testdir({
  'package.json': '{"name": "app", "private": true, "type": "module"}',
  'tsconfig.json': JSON.stringify({
    compilerOptions: {
      module: 'nodenext',
      target: 'es2022',
      types: ['node'],
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      noPropertyAccessFromIndexSignature: true,
      verbatimModuleSyntax: true,
      isolatedModules: true,
      skipLibCheck: false,
      rootDir: 'src',
      outDir: 'out'
    },
    include: ['src']
  }),
  src: {}
})

// It was compiled before the tests began: scripts would compile again.
const output = execute(root, 'npm', 'pack', '--json', '--ignore-scripts', '--pack-destination', directory)
const packed = (JSON.parse(output) as [Packed])[0]
const paths = packed.files.map(({ path }) => path)
install()

/**
 * Installs as npm would: the package from its archive, beside its dependencies and nothing else of the
 * repository.
 */
function install (): void {
  const installed = join(directory, 'node_modules/headgate')
  mkdirSync(installed, { recursive: true })
  execute(installed, 'tar', '-xzf', join(directory, packed.filename), '--strip-components=1')
  for (const name of [...Object.keys(manifest.dependencies), 'typescript', '@types/node']) {
    const link = join(directory, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), link)
  }
  execute(directory, 'npm', 'rebuild', '--ignore-scripts', 'headgate')
}

function execute (cwd: string, ...command: readonly string[]): string {
  return execFileSync(...plainCommand(...command), {
    cwd,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore']
  })
}

t.test('the package has the needed files and no others', async t => {
  const outside = paths.filter(path => !path.startsWith('build/') && !/^(?:docs|examples)\//.test(path))
  t.same(outside.toSorted(), [
    '.env.example', 'CHANGELOG.md', 'LICENSE', 'README.md', 'headgate.example.yaml', 'package.json'
  ])
  const kept =
    /^build\/(?:headgate\.schema\.json$|headgate\.cjs$|dashboard\/(?:index\.html|assets\/[\w-]+\.(?:js|css|svg|woff2))$|THIRD-PARTY-LICENSES\.txt$|(?:lib|pipelines|schemas)\/.*(?:\.js|\.d\.ts|catalogue\.json)$)/
  t.same(
    paths.filter(path => path.startsWith('build/') && !kept.test(path)),
    []
  )
  const ts = (folder: string): string[] =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).filter(
      name => /(?<!\.d)\.ts$/.test(name) && !name.startsWith('dashboard/page/')
    )
  for (const folder of ['lib', 'pipelines', 'schemas']) {
    const compiled = ts(folder).map(name => `build/${folder}/${name.replace(/ts$/, 'js')}`)
    t.same(compiled.filter(path => !paths.includes(path)), [], `everything of ${folder}`)
  }
  t.ok(
    paths.includes('build/headgate.cjs') &&
      paths.includes('build/dashboard/index.html') &&
      paths.includes('build/THIRD-PARTY-LICENSES.txt')
  )
  t.ok(packed.size < 3_500_000, `${packed.size} bytes`)
  t.notOk(Object.keys(manifest.dependencies).includes('typescript'))
  t.notMatch(
    readFileSync(join(root, 'package-lock.json'), 'utf8'),
    '"resolved"',
    'the lock file names no registry'
  )
})

t.test('pages linked from the documents are in the package or are repository sources', async t => {
  const broken = paths
    .filter(path => path.endsWith('.md'))
    .flatMap(path => {
      const text = readFileSync(join(root, path), 'utf8')
      return [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)]
        .map(([, link = '']) => join(dirname(path), link).replace(/\/$/, ''))
        .filter(target => !paths.some(known => known === target || known.startsWith(`${target}/`)))
        .filter(
          target =>
            !(
              /^(?:(?:lib|pipelines|schemas|bench|test)\/|(?:CONTRIBUTING|SECURITY)\.md$)/.test(target) &&
              existsSync(join(root, target))
            )
        )
        .map(target => `${path}: ${target}`)
    })
  t.same(broken, [])
})

t.test('the examples compile in a strict project of their own', { skip: shortRun }, async t => {
  cpSync(join(directory, 'node_modules/headgate/examples'), join(directory, 'src'), { recursive: true })
  const modules = Object.keys(manifest.exports)
    .filter(name => !name.endsWith('.json'))
    .map(name => `headgate${name.slice(1)}`)
  const all = modules.map((name, index) => `export * as module${index} from '${name}'\n`)
  writeFileSync(join(directory, 'src/all.ts'), all.join(''))
  const [code, out] = await run('npx', '--no-install', 'tsc', '-p', '.')
  t.same([code, out], [0, ''])
})

t.test('the examples run', { skip: shortRun }, async t => {
  const [code, out] = await run('node', 'out/own-stage.js')
  t.equal(code, 0)
  t.match(out, /^data: \{.*"content":" ANYONE"/m)
  for (const name of ['embedded-gateway', 'own-provider']) await started(t, 'node', `out/${name}.js`)
})

t.test('private modules cannot be imported', async t => {
  t.match(await run('node', '-e', 'import("headgate/core/record")'), [1, /ERR_PACKAGE_PATH_NOT_EXPORTED/])
})

t.test('npx headgate prints its version and runs the gateway until npx is stopped', async t => {
  t.same(await run('npx', '--no-install', 'headgate', '--version'), [0, `${manifest.version}\n`])

  const { child, address } = await started(t, 'npx', '--no-install', 'headgate', 'start')
  const ended = once(child.stdout, 'close')
  child.kill('SIGTERM')
  await ended // no process is left that could write
  await t.rejects(fetch(`${address}/livez`))
})

t.test('a setting that needs other packages names them if they are not installed', async t => {
  // Below the repository, Node.js would find the packages of the tests.
  const bare = mkdtempSync(join(tmpdir(), 'headgate-'))
  t.teardown(() => { rmSync(bare, { recursive: true }) })
  cpSync(join(directory, 'node_modules/headgate'), join(bare, 'node_modules/headgate'), { recursive: true })
  for (const name of Object.keys(manifest.dependencies)) {
    mkdirSync(dirname(join(bare, 'node_modules', name)), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), join(bare, 'node_modules', name))
  }
  const command = join(bare, 'node_modules/headgate/build/headgate.cjs')
  const named = new Set<string>()
  for (const signal of ['traces', 'metrics', 'logs']) {
    writeFileSync(
      join(bare, 'traced.yaml'),
      `telemetry: {otlp: {traces: false, ${signal}: true}}\nserver: {port: 0}\n`.replace(
        'traces: false, traces',
        'traces'
      )
    )
    const [code, out] = await run('node', command, 'start', '--config', join(bare, 'traced.yaml'))
    t.not(code, 0, signal)
    const [, packages = ''] = /npm install ([^`]+)`/.exec(out) ?? []
    for (const name of packages.split(' ')) named.add(name)
  }
  t.same(
    [...named].toSorted(),
    Object.keys(manifest.peerDependencies)
      .filter(name => name.startsWith('@opentelemetry/'))
      .toSorted()
  )
  writeFileSync(
    join(bare, 'mail.yaml'),
    'alerts: {emails: {ops: {server: "smtp://127.0.0.1", from: a@example.com, to: [b@example.com]}}}\nserver: {port: 0}\n'
  )
  const [code, out] = await run('node', command, 'start', '--config', join(bare, 'mail.yaml'))
  t.not(code, 0)
  t.match(out, 'npm install nodemailer')
})

t.test('the command also runs from its modules', async t => {
  t.same(await run('node', 'node_modules/headgate/build/lib/main.js', '--version'), [
    0,
    `${manifest.version}\n`
  ])
})

t.test('a command that cannot continue fails, whatever Node.js does then', async t => {
  cpSync(
    join(directory, 'node_modules/headgate/build/headgate.cjs'),
    join(directory, 'alone/build/headgate.cjs')
  )
  const [code, out] = await run(
    'node',
    '--unhandled-rejections=warn',
    'alone/build/headgate.cjs',
    '--version'
  )
  t.equal(code, 1)
  t.match(out, /ENOENT/)
})

/** Starts a command that runs a gateway, and returns its address once it answers. */
async function started (t: Test, ...command: readonly string[]) {
  // The address is on standard error or output, in the form for people or for programs.
  const child = spawn(...plainCommand('sh', '-c', 'exec "$0" "$@" 2>&1', ...command), {
    cwd: directory, env: { ...env, PORT: '0' }, stdio: ['ignore', 'pipe', 'ignore'], detached: true
  })
  t.teardown(() => killGroup(child.pid))
  const address = await firstMatch(child.stdout, /http:\/\/[\w.]+:\d+/)
  child.stdout.resume() // reading lines has paused it, and unread output keeps it open
  t.equal((await fetch(`${address}/livez`)).status, 200)
  return { child, address }
}

async function firstMatch (stream: NodeJS.ReadableStream, pattern: RegExp): Promise<string> {
  for await (const line of createInterface(stream)) {
    const found = pattern.exec(line)
    if (found !== null) return found[0]
  }
  throw new Error(`the output ended before ${pattern}`)
}

function killGroup (pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error // it has exited, as it should
  }
}

/** Runs a command in the project; returns its exit code and its output including errors. */
async function run (...command: readonly string[]): Promise<[code: number | null, output: string]> {
  const child = spawn(...plainCommand(...command), {
    cwd: directory,
    env: { ...env, npm_config_loglevel: 'error' }
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', bytes => { output += String(bytes) })
  const [code] = await once(child, 'close') as [number | null]
  return [code, output]
}
