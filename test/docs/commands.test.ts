/**
 * Reads the shell commands of the pages on migration, releases, deployment and comparison. Each is run here
 * or by another test, or has a reason why it is not.
 */

import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { applyImport } from '../../lib/accounts/apply-import.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { freePort } from '../support/free-port.ts'
import { directoryOf, main, startGateway } from '../support/headgate.ts'

const root = join(import.meta.dirname, '../../..')
const pages = [
  'from-litellm', 'from-bifrost', 'releases', 'deployment', 'mirroring', 'dashboard', 'scaling'
] as const

/** Returns the code blocks of a page in a language. */
function blocksOf (page: typeof pages[number], language: string): string[] {
  const text = readFileSync(join(root, `docs/${page}.md`), 'utf8')
  return [...text.matchAll(/^```(\w+)\n([^]*?)^```$/gm)]
    .flatMap(([, name, block = '']) => (name === language ? block : []))
}

/** Returns the commands of a page, one per line and without comments. */
function commandsOf (page: typeof pages[number]): string[] {
  return blocksOf(page, 'sh')
    .flatMap(block => block.replaceAll(/\\\n\s*/g, '').split('\n'))
    .map(line => line.replace(/\s+#\s.*$/, '').trim())
    .filter(line => line !== '' && !line.startsWith('#'))
}

const runBook = [
  'test/import/litellm-database.test.ts',
  'each step of the run-book works beside a serving LiteLLM and can be undone'
] as const
const signature = [
  'test/package/release.test.ts',
  'the signature is verified as documented, and fails for another file or signer'
] as const
const archive = [
  'test/package/release.test.ts',
  'a release has the package, its components, provenance and digests, reproducibly'
] as const
const unit = ['test/examples/deployment.test.ts', 'systemd accepts the unit'] as const
const manifests = [
  'test/examples/deployment.test.ts', 'kubectl builds the manifests with the configuration'
] as const

/** Commands that other tests run: all of a page, or those with this beginning. */
const shownBy: ReadonlyArray<readonly [page: string, start: string, ...test: readonly [string, string]]> = [
  ['from-litellm', '', ...runBook],
  ['releases', 'ssh-keygen ', ...signature],
  ['releases', 'sha256sum --check ', ...archive],
  ['deployment', 'kubectl apply -k ', ...manifests],
  ['deployment', 'systemctl ', ...unit]
]

const engine = 'needs a container engine: .ci/image.sh executes the Dockerfile without one'
const cluster = 'needs a cluster'
const system = 'changes the system'
/** Why the other commands are not run. */
const notRun: ReadonlyArray<readonly [page: string, start: string, reason: string]> = [
  ['releases', 'git checkout ', 'installs from a registry: .ci/release.mjs does so in two clones'],
  ['releases', 'sha256sum headgate-VERSION.tgz', 'is about the package of the command before'],
  ['deployment', 'docker ', engine],
  ['deployment', 'POSTGRES_PASSWORD=… ', engine],
  ['deployment', 'npm run build', 'builds in the folder of the tests: test/package packs that build'],
  ['deployment', 'npm ci ', 'installs from a registry'],
  ['deployment', 'useradd ', system],
  ['deployment', 'install -d /etc/', system],
  ['deployment', 'cp examples/deployment/headgate.service ', system],
  ['deployment', 'kubectl create ', cluster]
]

/** Commands that this file runs. */
const runHere = new Set<string>()

/** Creates a folder in which the commands of the pages are in the path. */
function folderOf (t: Test, files: Readonly<Record<string, string>>): string {
  const directory = directoryOf(t, files)
  mkdirSync(join(directory, 'bin'))
  writeFileSync(join(directory, 'bin/headgate'), `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`)
  chmodSync(join(directory, 'bin/headgate'), 0o755)
  return directory
}

interface Ended { readonly status: number | null, readonly stdout: string, readonly stderr: string }

/**
 * Runs a command of a page.
 *
 * @param change replaces what differs on this machine
 */
function runAs (
  cwd: string,
  command: string | undefined,
  env: Readonly<Record<string, string>> = {},
  change: (command: string) => string = text => text
): Ended {
  if (command === undefined) throw new Error('the page has no such command')
  runHere.add(command)
  return spawnSync('sh', ['-c', change(command)], {
    cwd,
    encoding: 'utf8',
    env: { PATH: `${join(cwd, 'bin')}:${process.env['PATH'] ?? ''}`, ...env }
  })
}

t.test('the import from Bifrost is planned and applied', async t => {
  const directory = folderOf(t, {
    'config.json': JSON.stringify({
      providers: { openai: { keys: [{ name: 'a', value: 'env.OPENAI_API_KEY', models: ['*'], weight: 1 }] } }
    })
  })
  const [plan, apply] = commandsOf('from-bifrost')
  const planned = runAs(directory, plan)
  t.match(planned, { status: 0, stdout: /entries: / }, planned.stderr)
  t.match(runAs(directory, apply, { OPENAI_API_KEY: 'x' }), { status: 0, stdout: /Written: headgate\.yaml/ })
})

t.test('a route is compared with its mirror', async t => {
  const directory = folderOf(t, { 'headgate.yaml': blocksOf('mirroring', 'yaml')[0] ?? '' })
  const [compare] = commandsOf('mirroring')
  t.match(runAs(directory, compare), { status: 0, stdout: /^MODEL [^]*\nall +a +0 [^]*\nall +b +0 / })
})

t.test('the admin API creates a key, and a file is planned and applied', async t => {
  const adminKey = 'hga_0123456789012345678901234567890123456789'
  const directory = folderOf(t, {
    '.env': `HEADGATE_ADMIN_KEY=${adminKey}\n`,
    'organisation.yaml': blocksOf('dashboard', 'yaml').find(block => block.startsWith('projects:')) ?? ''
  })
  const database = await openDatabase(join(directory, '.headgate'))
  const users = ['ada', 'ben'].map(name => ({
    sourceId: name, name, email: `${name}@example.com`, role: 'member' as const, createdAtMs: 1
  }))
  await applyImport(database, 'litellm', { users, projects: [], keys: [] })
  await database.close()
  const { url } = await startGateway(t, directory)
  const here = (command: string): string =>
    command
      .replace('http://127.0.0.1:8080', url)
      .replace('https://ai.example.com', url)
      .replace('hga_…', adminKey)
  const [create, set, plan, apply, ...others] = commandsOf('dashboard')
  t.same(others, [])
  t.match(runAs(directory, create, {}, here), { status: 0, stdout: /"secret": ?"/ })
  t.match(runAs(directory, set, {}, here), { status: 0 })
  const env = { HEADGATE_ADMIN_KEY: adminKey }
  const planned = runAs(directory, plan, env, here)
  t.match(planned, { status: 3, stdout: /search-batch/ }, planned.stderr)
  const applied = runAs(directory, apply, env, here)
  t.match(applied, { status: 0 }, applied.stderr)
  t.match(readFileSync(join(directory, 'new-keys.jsonl'), 'utf8'), /"search-web"/)
})

t.test('two gateways are measured under the same load', async t => {
  const port = await freePort()
  const configuration = `
dashboard: false
keys: [{name: bench, key: env:BENCH_KEY}]
providers: {bench: {kind: openai-compatible, base_url: http://127.0.0.1:${port}/v1, list_models: false}}
`
  const directory = folderOf(t, {})
  const [a, b] = await Promise.all(['a', 'b'].map(async name => {
    const own = join(directory, name)
    mkdirSync(own)
    writeFileSync(join(own, 'headgate.yaml'), configuration)
    return await startGateway(t, own, { BENCH_KEY: 'sk-bench' })
  }))
  if (a === undefined || b === undefined) throw new Error('two were started')
  const [bench] = commandsOf('scaling')
  const short = `--listen 127.0.0.1:${port} --rates 5 --seconds 0.5 --lanes 'JSON, 1 KB'`
  const ended = runAs(directory, bench, { KEY_A: 'sk-bench', KEY_B: 'sk-bench' }, command => `${command
    .replace('http://127.0.0.1:8080', a.url)
    .replace('http://127.0.0.1:4000', b.url)
    .replace('4711', String(a.child.pid))} ${short}`)
  t.match(ended, { status: 0, stdout: /^JSON, 1 KB body .* B /m }, ended.stderr)
})

t.test('a one-line configuration is valid, and a package can be unpacked', async t => {
  const directory = folderOf(t, {})
  const commands = commandsOf('deployment')
  const write = commands.find(command => command.startsWith('echo '))
  t.match(runAs(directory, write), { status: 0 })
  t.match(runAs(directory, 'headgate check'), { status: 0, stdout: /Configuration OK/ })
  const pack = join(directory, 'package')
  mkdirSync(pack)
  writeFileSync(join(pack, 'package.json'), '{}')
  writeFileSync(join(directory, 'package-lock.json'), '{}')
  writeFileSync(join(directory, '.npmrc'), '')
  spawnSync('tar', ['-czf', 'headgate-1.0.0.tgz', 'package'], { cwd: directory })
  const here = (command: string): string => command.replaceAll('/srv/headgate', 'srv')
  const unpack = commands.find(command => command.startsWith('tar '))
  t.match(runAs(directory, unpack, {}, here), { status: 0 })
  const copy = commands.find(command => command.startsWith('cp package-lock.json '))
  t.match(runAs(directory, copy, {}, here), { status: 0 })
  for (const name of ['package.json', 'package-lock.json', '.npmrc']) {
    t.ok(readFileSync(join(directory, 'srv', name)) instanceof Buffer, name)
  }
})

const { HEADGATE_TEST_HELM: helm } = process.env

t.test('the chart is rendered with the values of the page', {
  skip: helm === undefined && 'HEADGATE_TEST_HELM is no path of Helm'
}, async t => {
  const directory = folderOf(t, {})
  symlinkSync(helm ?? '', join(directory, 'bin/helm'))
  symlinkSync(join(root, 'examples'), join(directory, 'examples'))
  const commands = commandsOf('deployment').filter(command => command.startsWith('helm '))
  t.equal(commands.length, 2)
  for (const command of commands) {
    const rendered = runAs(directory, command, { HOME: directory }, text =>
      text.replace(/^helm (?:install|upgrade --install) /, 'helm template --kube-version 1.31.0 '))
    t.match(rendered, { status: 0, stdout: /kind: StatefulSet/ }, rendered.stderr)
  }
})

t.test('every command of these pages is tested, or there is a reason why not', async t => {
  const isOf = (page: string, command: string) =>
    ([of, start]: readonly [string, string, ...unknown[]]): boolean =>
      of === page && command.startsWith(start)
  const unknown = pages.flatMap(page => commandsOf(page)
    .filter(command => !runHere.has(command) && (helm !== undefined || !command.startsWith('helm ')))
    .filter(command => ![...shownBy, ...notRun].some(isOf(page, command)))
    .map(command => `${page}: ${command}`))
  t.same(unknown, [])
  for (const [page, start, ...rest] of [...shownBy, ...notRun]) {
    const commands = commandsOf(pages.find(name => name === page) ?? 'scaling')
    t.ok(commands.some(command => command.startsWith(start)), `${page}: ${start}`)
    const [test, title] = rest
    if (title !== undefined) t.ok(readFileSync(join(root, test), 'utf8').includes(title), title)
  }
})
