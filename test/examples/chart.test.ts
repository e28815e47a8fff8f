/**
 * Checks the chart in `examples/chart`: its values against their schema, and the names of ours that it uses.
 * With Helm (HEADGATE_TEST_HELM, the path of the program) it is rendered, and the manifests are validated
 * against the schemas of Kubernetes.
 */

import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { loadSettings } from '../../lib/config/read-settings.ts'
import { isDashboardServed } from '../../lib/dashboard/is-served.ts'
import { isObject } from '../../lib/json/type-guards.ts'
import { endpointDocs } from '../../pipelines/index.ts'
import { unreadFields, type Manifest } from '../support/kubernetes.ts'
import type { StatefulSet } from 'kubernetes-models/apps/v1'

const root = join(import.meta.dirname, '../../..')
const folder = join(root, 'examples/chart')
const read = (name: string): string => readFileSync(join(folder, name), 'utf8')

type Values = Readonly<Record<string, unknown>>

const values = parse(read('values.yaml')) as Values
const several = parse(read('values-several.yaml')) as Values
const schema = JSON.parse(read('values.schema.json')) as object
const isValid = new Ajv({ strict: true, strictTypes: false, allErrors: true }).compile(schema)
const templates = readdirSync(join(folder, 'templates'))
  .map(name => read(`templates/${name}`))
  .join('\n')

function problems (given: unknown): string[] {
  return isValid(given)
    ? []
    : (isValid.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}

t.test('the values match their schema, which refuses unknown entries', async t => {
  t.same(problems(values), [])
  t.same(problems(several), [])
  for (const [wrong, problem] of [
    [{ replica: 2 }, ' must NOT have additional properties'],
    [{ image: { tags: 'x' } }, '/image must NOT have additional properties'],
    [{ replicas: 0 }, '/replicas must be >= 1'],
    [{ replicas: '2' }, '/replicas must be integer'],
    [{ image: { digest: 'latest' } }, '/image/digest must match pattern "^(sha256:[0-9a-f]{64})?$"'],
    [{ secrets: [{ name: 'headgate' }] }, '/secrets/0 must be string'],
    [{ secretFiles: [{ secret: 'x' }] }, "/secretFiles/0 must have required property 'mountPath'"],
    [
      { persistence: { size: 'large' } },
      '/persistence/size must match pattern "^[0-9]+(\\.[0-9]+)?([kMGTPE]i?|m)?$"'
    ]
  ] as const) {
    t.same(problems(wrong), [problem])
  }
})

t.test('templates use only existing values, and every value is used', async t => {
  const used = new Set(
    [...templates.matchAll(/\.Values((?:\.\w+)+)/g)].map(([, path = '']) => path.slice(1))
  )
  t.ok(used.size > 30, `${used.size} values`)
  // The store is set in the configuration, and the default has none.
  const optional = new Set(['config.store', 'config.server.port'])
  const known = new Set(leaves(values))
  const missing = [...used].filter(
    path => ![...known].some(leaf => leaf === path || leaf.startsWith(`${path}.`))
  )
  t.same(
    missing.filter(path => !optional.has(path)),
    []
  )
  const unused = [...known].filter(
    leaf => ![...used].some(path => leaf === path || leaf.startsWith(`${path}.`))
  )
  t.same(unused, [])
})

/** Lists the paths of the values; an empty map counts as one. */
function leaves (value: unknown, path = ''): string[] {
  if (!isObject(value) || Object.keys(value).length === 0) return [path]
  return Object.entries(value).flatMap(([name, inner]) =>
    leaves(inner, path === '' ? name : `${path}.${name}`)
  )
}

t.test(
  'the configurations use existing settings, and match the ports, probes and termination grace period',
  async t => {
    const paths = new Set(endpointDocs.filter(({ method }) => method === 'GET').map(({ path }) => path))
    const probed = [...templates.matchAll(/httpGet: \{ path: (\S+), port: http \}/g)].map(
      ([, path = '']) => path
    )
    t.same(probed, ['/livez', '/readyz', '/livez'])
    t.same(
      probed.filter(path => !paths.has(path)),
      []
    )
    for (const given of [values, several]) {
      const { server, metrics, dashboard } = settingsOf(JSON.stringify(given['config']))
      t.equal(server.port, 8080)
      t.equal(metrics?.port, 9464)
      const grace = given['terminationGracePeriodSeconds'] ?? values['terminationGracePeriodSeconds']
      t.ok(Number(grace) >= (server.shutdownDelayMs + server.drainMs) / 1000 + 2)
      t.equal(isDashboardServed({ server, dashboard }), given === several)
    }
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
    t.match(parse(read('Chart.yaml')), { version, appVersion: version })
  }
)

/** Loads a configuration as in a container of the image; throws for unknown settings. */
function settingsOf (config: string): ReturnType<typeof loadSettings> {
  const env = { HOST: '0.0.0.0', DATABASE_URL: 'postgres://postgres/headgate', REDIS_URL: 'redis://redis' }
  return loadSettings({ env, cwd: t.testdir({ 'headgate.yaml': config }) })
}

const helm = process.env['HEADGATE_TEST_HELM']
const withHelm = { skip: helm === undefined && 'Helm is not at hand' }

/** Renders the chart with values that replace or extend the defaults. */
function render (...args: readonly string[]): Manifest[] {
  const command = ['template', 'prod', folder, '--namespace', 'ai', '--kube-version', '1.31.0', ...args]
  const text = execFileSync(helm ?? '', command, { encoding: 'utf8' })
  return parseAllDocuments(text)
    .map(document => document.toJS() as Manifest | null)
    .filter(manifest => manifest !== null)
}

function refusal (...args: readonly string[]): string {
  return spawnSync(helm ?? '', ['template', 'prod', folder, '--kube-version', '1.31.0', ...args], {
    encoding: 'utf8'
  }).stderr
}

function one (manifests: readonly Manifest[], kind: string, name = 'prod-headgate'): Manifest {
  const [found, ...others] = manifests.filter(each => each.kind === kind && each.metadata.name === name)
  if (found === undefined || others.length > 0) throw new Error(`there is not one ${kind} ${name}`)
  return found
}

t.test('a single gateway has a StatefulSet, its services and its configuration', withHelm, async t => {
  const manifests = render()
  t.same(manifests.map(({ kind }) => kind).toSorted(), ['ConfigMap', 'Service', 'Service', 'StatefulSet'])
  for (const manifest of manifests) t.same(unreadFields(manifest), [], manifest.kind)
  t.match(settingsOf(one(manifests, 'ConfigMap').data?.['headgate.yaml'] ?? ''), {
    server: { drainMs: 60_000 },
    metrics: { port: 9464 }
  })
  const [container] =
    (one(manifests, 'StatefulSet') as unknown as StatefulSet).spec?.template.spec?.containers ?? []
  t.equal(
    container?.image,
    `registry.example.com/headgate:${(parse(read('Chart.yaml')) as { appVersion: string }).appVersion}`
  )
  t.equal(container?.envFrom, undefined)
})

t.test('several gateways have all manifests, and their references resolve', withHelm, async t => {
  const manifests = render('-f', join(folder, 'values-several.yaml'))
  t.same(manifests.map(({ kind }) => kind).toSorted(), [
    'ConfigMap',
    'ConfigMap',
    'HorizontalPodAutoscaler',
    'Ingress',
    'Job',
    'NetworkPolicy',
    'PodDisruptionBudget',
    'Service',
    'Service',
    'ServiceMonitor',
    'StatefulSet'
  ])
  for (const manifest of manifests.filter(({ kind }) => kind !== 'ServiceMonitor')) {
    t.same(unreadFields(manifest), [], manifest.kind)
  }
  const set = one(manifests, 'StatefulSet') as unknown as StatefulSet // validated above
  const { template, selector, serviceName, replicas } = set.spec ?? {}
  const [container] = template?.spec?.containers ?? []
  const matchLabels = selector?.matchLabels ?? {}
  t.match(template?.metadata?.labels, matchLabels)
  t.equal(replicas, undefined, 'the autoscaler sets the number')
  t.match(container, {
    envFrom: [{ secretRef: { name: 'headgate' } }],
    ports: [
      { name: 'http', containerPort: 8080 },
      { name: 'metrics', containerPort: 9464 }
    ],
    securityContext: {
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] }
    }
  })
  t.match(template?.spec, {
    automountServiceAccountToken: false,
    securityContext: { runAsNonRoot: true, runAsUser: 1000 }
  })
  const volumes = [...(template?.spec?.volumes ?? []), { name: 'data' }].map(({ name }) => name).toSorted()
  t.same(container?.volumeMounts?.map(({ name }) => name).toSorted(), volumes)

  for (const name of ['prod-headgate', serviceName ?? '']) {
    t.same(one(manifests, 'Service', name).spec['selector'], matchLabels)
  }
  for (const kind of ['PodDisruptionBudget', 'NetworkPolicy'] as const) {
    t.match(one(manifests, kind).spec, {
      [kind === 'NetworkPolicy' ? 'podSelector' : 'selector']: { matchLabels }
    })
  }
  t.match(one(manifests, 'HorizontalPodAutoscaler').spec, {
    scaleTargetRef: { kind: 'StatefulSet', name: 'prod-headgate' },
    minReplicas: 2,
    maxReplicas: 8,
    metrics: [{ pods: { metric: { name: 'headgate_open_calls' }, target: { averageValue: '200' } } }]
  })
  const metrics = readFileSync(join(root, 'lib/telemetry/metrics.ts'), 'utf8')
  t.match(metrics, "'headgate_open_calls'", 'a metric of the gateway')
  const monitored = one(manifests, 'ServiceMonitor').spec as unknown as {
    selector: { matchLabels: object }
    endpoints: object[]
  }
  t.match(one(manifests, 'Service', serviceName ?? '').metadata.labels, monitored.selector.matchLabels)
  t.match(monitored.endpoints, [{ port: 'metrics', path: '/metrics', interval: '30s' }])
  t.match(one(manifests, 'Ingress').spec, {
    ingressClassName: 'nginx',
    tls: [{ secretName: 'ai-example-com', hosts: ['ai.example.com'] }],
    rules: [
      {
        host: 'ai.example.com',
        http: { paths: [{ backend: { service: { name: 'prod-headgate', port: { name: 'http' } } } }] }
      }
    ]
  })

  const job = one(manifests, 'Job', 'prod-headgate-migration')
  t.equal(job.metadata.annotations?.['helm.sh/hook'], 'pre-install,pre-upgrade')
  t.match((job.spec['template'] as { spec: { containers: object[] } }).spec.containers, [
    {
      command: ['node', '/srv/headgate/build/headgate.cjs', 'store', 'migrate'],
      envFrom: [{ secretRef: { name: 'headgate' } }]
    }
  ])
  const configs = ['prod-headgate', 'prod-headgate-migration'].map(
    name => one(manifests, 'ConfigMap', name).data?.['headgate.yaml']
  )
  t.equal(configs[0], configs[1])
  t.equal(settingsOf(configs[0] ?? '').server.trustProxy, true)
  t.notMatch(JSON.stringify(manifests), 'kind":"Secret"', 'no secret is created from values')
})

t.test('an impossible configuration is refused with a reason', withHelm, async t => {
  t.match(refusal('--set', 'replicas=2'), 'More than one gateway needs config.store.url')
  t.match(refusal('--set', 'autoscaling.enabled=true'), 'More than one gateway needs config.store.url')
  t.match(refusal('--set', 'ingress.enabled=true'), 'ingress.hosts is empty')
  t.match(
    refusal('--set', 'serviceMonitor.enabled=true,config.metrics=null'),
    'serviceMonitor needs config.metrics'
  )
  t.match(refusal('--set', 'replica=2'), /replica/)
  t.match(
    spawnSync(helm ?? '', ['lint', folder, '--strict'], { encoding: 'utf8' }).stdout,
    '1 chart(s) linted, 0 chart(s) failed'
  )
})

t.test('values are used in the manifests', withHelm, async t => {
  const digest = `sha256:${'0'.repeat(64)}`
  const several = render(
    '--set',
    `image.digest=${digest},replicas=2,config.store.url=env:DATABASE_URL,persistence.storageClass=fast,imagePullSecrets[0]=pull`
  )
  t.equal(several.find(({ kind }) => kind === 'Job')?.metadata.name, 'prod-headgate-migration')
  const set = one(several, 'StatefulSet') as unknown as StatefulSet
  t.equal(set.spec?.replicas, 2)
  t.equal(set.spec?.template.spec?.containers[0]?.image, `registry.example.com/headgate@${digest}`)
  t.match(set.spec?.volumeClaimTemplates, [{ spec: { storageClassName: 'fast' } }])
  t.match(set.spec?.template.spec?.imagePullSecrets, [{ name: 'pull' }])
  for (const manifest of several) t.same(unreadFields(manifest), [], manifest.kind)
  const changed = render('--set', 'config.server.drain_ms=1000')
  const sums = [render(), changed].map(
    each => JSON.stringify(one(each, 'StatefulSet').spec).match(/"checksum\/config":"(\w+)"/)?.[1]
  )
  t.not(sums[0], sums[1], 'a changed configuration restarts the gateways')
  t.notOk(
    render('--set', 'config.store.url=env:DATABASE_URL,migration.enabled=false').some(
      ({ kind }) => kind === 'Job'
    )
  )
})
