/**
 * Compares the names in spans, log records and metrics with the registry of OpenTelemetry's semantic
 * conventions, for calls of every kind.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { callSpans, type CallSpan } from '../../lib/telemetry/call-spans.ts'
import { providerNameOf } from '../../lib/telemetry/gen-ai.ts'
import { Metrics } from '../../lib/telemetry/metrics.ts'
import { logRecordOf } from '../../lib/telemetry/otlp-logs.ts'
import { recoveredSpan } from '../../lib/telemetry/recovered-span.ts'
import { providerKinds, type ProviderKind } from '../../schemas/providers.ts'
import { collector, type SeenSpan } from '../support/collector.ts'
import { testGateway, upstreamAt } from '../support/gateway.ts'
import { otlpSettings, settings } from '../support/settings.ts'
import { startToolServer } from '../support/tool-server.ts'
import { remoteServer } from '../support/tool-servers.ts'
import {
  chatAnswer, chatFrames, eventStream, fakeUpstream, toolCallAnswer, type Script
} from '../support/upstream.ts'
import { usageRowOf } from '../support/usage.ts'
import type { Family } from '../../lib/telemetry/metric-families.ts'

/** Names that the conventions have and do not mark as deprecated. */
interface Registry {
  readonly attributes: ReadonlySet<string>
  readonly metrics: ReadonlySet<string>
  /** Such as `GEN_AI_TOKEN_TYPE: input`. */
  readonly values: ReadonlySet<string>
}

/** The conventions for generative AI and MCP are unchanged by their move to a separate repository. */
const moved = /^Moved to the \[OpenTelemetry GenAI/

/**
 * Renamed in that repository since its names were last in the package.
 *
 * @see https://github.com/open-telemetry/semantic-conventions-genai/pull/440
 */
const renamed: Readonly<Record<string, string>> = {
  'gen_ai.usage.cache_creation.input_tokens': 'gen_ai.usage.cache_write.input_tokens'
}

/** Names of platforms, where no convention exists. */
const platformNames: ReadonlySet<string> = new Set([
  'gen_ai.usage.cost' // read by Langfuse and Datadog
])

/** Reads the registry from the type declarations of the package: only their comments mark deprecations. */
function readRegistry (): Registry {
  const directory = dirname(
    fileURLToPath(import.meta.resolve('@opentelemetry/semantic-conventions/incubating'))
  )
  const text = readdirSync(directory)
    .filter(file => /^(stable|experimental)_(attributes|metrics)\.d\.mts$/.test(file))
    .map(file => readFileSync(join(directory, file), 'utf8'))
    .join('\n')
  const attributes = new Set(Object.values(renamed))
  const metrics = new Set<string>()
  const values = new Set<string>()
  for (const [, comment = '', constant = '', name = ''] of text.matchAll(
    /\/\*\*((?:[^*]|\*(?!\/))*)\*\/\s*declare const (\w+): "([^"]+)";/g
  )) {
    const [, reason] = /@deprecated (.*)/.exec(comment) ?? []
    if ((reason !== undefined && !moved.test(reason)) || renamed[name] !== undefined) continue
    if (constant.startsWith('ATTR_')) attributes.add(name)
    else if (constant.startsWith('METRIC_')) metrics.add(name)
    else values.add(`${constant.replace(/_VALUE_.*/, '')}: ${name}`)
  }
  return { attributes, metrics, values }
}

const registry = readRegistry()

/** Returns the names that are neither ours nor current in the conventions. */
function unknownNames (names: Iterable<string>): string[] {
  return [...new Set(names)]
    .filter(name => !name.startsWith('headgate.') && !registry.attributes.has(name))
    .toSorted()
}

interface Seen {
  /** The spans of the calls, with attributes that have no value too. */
  readonly made: readonly CallSpan[]
  /** What the collector received. */
  readonly sent: readonly SeenSpan[]
  /** The names of all attributes that the collector received, including events and resources. */
  readonly sentNames: readonly string[]
  readonly families: readonly Family[]
  readonly lines: ReadonlyArray<Record<string, unknown>>
}

const toolTurn: Script = { pieces: [toolCallAnswer('echo')] }
const embedding: Script = {
  pieces: [
    JSON.stringify({
      object: 'list',
      model: 'e',
      data: [{ object: 'embedding', index: 0, embedding: [1] }],
      usage: { prompt_tokens: 3, total_tokens: 3 }
    })
  ]
}

/** Makes a call of every kind, with all telemetry enabled. */
async function makeCalls (t: Test): Promise<Seen> {
  const [seen, tools] = [await collector(t), await startToolServer(t)]
  const upstream = await fakeUpstream(({ path, json }) => {
    if (path.endsWith('/embeddings')) return embedding
    // written by the gateway
    const body = json as { model: string, stream?: true, messages: Array<{ role: string }>, tools?: unknown }
    if (body.model === 'broken') return { status: 500, pieces: ['{}'] }
    if (body.stream) return { headers: eventStream, pieces: chatFrames(['one', 'two'], { usage: true }) }
    return body.tools !== undefined && body.messages.at(-1)?.role === 'user'
      ? toolTurn
      : { pieces: [chatAnswer('one')] }
  })
  t.teardown(upstream.close)
  const made: CallSpan[] = []
  const metrics = new Metrics(() => api.gateway)
  const api = await testGateway(
    t,
    {
      providers: [upstreamAt(`${upstream.url}/v1`, 'one', 'groq')],
      routes: [{ name: 'either', models: ['one/broken', 'one/m'] }],
      tools: {
        ...settings().tools,
        connectMs: 10_000,
        callMs: 10_000,
        loopMs: 20_000,
        allowedHosts: ['127.0.0.1']
      },
      toolServers: [remoteServer('org/test', tools.url)],
      guards: [
        {
          name: 'islands',
          use: 'pattern',
          at: ['request', 'answer'],
          action: 'mask',
          patterns: [{ name: 'island', match: 'Z[a-z]{6}r', maxLength: 8 }]
        }
      ],
      telemetry: {
        maxSampledPerSecond: 100,
        otlp: otlpSettings(seen.url, {
          content: { projects: ['*'], maxBytes: 8192, redact: { fields: [], patterns: [] } }
        })
      }
    },
    {},
    {
      observers: [
        metrics.observe,
        (call, row) => {
          const { server, children } = callSpans(call, row, performance.now(), () => 'groq')
          made.push(server, ...children)
        }
      ]
    }
  )
  const chat = {
    model: 'one/m',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Zanzibar' }
    ],
    user: 'ann',
    metadata: { run: '7' }
  }
  const headers = { 'x-session-id': 'session-1', 'x-headgate-tags': 'search,beta' }
  const path = '/v1/chat/completions'
  for (const [to, body, status, more] of [
    [path, chat, 200, {}],
    [path, { ...chat, stream: true }, 200, {}],
    [path, { ...chat, model: 'either' }, 200, {}],
    [path, { ...chat, model: 'one/broken' }, 502, {}],
    [path, { ...chat, mcp_servers: ['org/test'] }, 200, {}],
    [path, chat, 401, { authorization: 'Bearer wrong' }],
    ['/v1/embeddings', { model: 'one/e', input: 'Hi' }, 200, {}]
  ] as const) {
    const response = await api.post(to, body, { headers: { ...headers, ...more } })
    t.equal(response.status, status, await response.text())
  }
  await api.gateway.close()
  return {
    made,
    sent: seen.spans(),
    sentNames: seen.requests.flatMap(({ json }) => attributeNames(json)),
    families: metrics.families(),
    lines: api.lines
  }
}

/** Returns the keys of all attributes in a request to a collector. */
function attributeNames (value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(attributeNames)
  if (typeof value !== 'object' || value === null) return []
  return [
    ...('key' in value && typeof value.key === 'string' ? [value.key] : []),
    ...Object.values(value).flatMap(attributeNames)
  ]
}

t.test('a call of every kind', async t => {
  const { made, sent, sentNames, families, lines } = await makeCalls(t)

  t.test('has spans with current attribute names of the conventions, or our own', async t => {
    const trace = { trace_id: 'a'.repeat(32), span_id: 'b'.repeat(16), sampled: true }
    const interrupted = recoveredSpan(
      usageRowOf(1, { outcome: 'interrupted', steps: JSON.stringify({ trace }) })
    )
    t.ok(interrupted)
    const names = [
      ...made.flatMap(({ attributes }) => Object.keys(attributes)),
      ...Object.keys(interrupted?.attributes ?? {}),
      ...sentNames
    ]
    t.same(unknownNames(names), [...platformNames])
    const expected = ['gen_ai.input.messages', 'gen_ai.output.messages', 'mcp.method.name', 'error.type']
    t.same(expected.filter(name => !sentNames.includes(name)), [], 'each kind is among them')
    const required = ['http.request.method', 'url.path', 'url.scheme']
    const servers = sent.filter(({ kind }) => kind === 2)
    t.ok(servers.length > 0)
    for (const { name, attributes } of servers) {
      t.same(required.filter(each => typeof attributes[each] !== 'string'), [], name)
    }
    const events = [...made, ...sent].flatMap(span => span.events.map(({ name }) => name))
    t.ok(events.length > 0)
    t.same(events.filter(name => !name.startsWith('headgate.')), [])
  })

  t.test('has spans that are named after their attributes', async t => {
    const nameOf = ({ kind, attributes: all }: SeenSpan): string => {
      const parts =
        kind === 2
          ? [all['http.request.method'], all['http.route']]
          : kind === 1
            ? ['stage', all['headgate.stage.name']]
            : [
                all['mcp.method.name'] ?? all['gen_ai.operation.name'],
                all['gen_ai.tool.name'] ?? all['gen_ai.request.model']
              ]
      return parts.filter(part => typeof part === 'string').join(' ')
    }
    t.same(sent.map(({ name }) => name), sent.map(nameOf))
    t.same([...new Set(sent.map(({ name }) => name))].toSorted(), [
      'POST /v1/chat/completions',
      'POST /v1/embeddings',
      'chat broken',
      'chat m',
      'embeddings e',
      'stage islands',
      'tools/call echo',
      'tools/list'
    ])
  })

  t.test('has values from the conventions where they define a list', async t => {
    const used = sent.flatMap(({ attributes }) =>
      ['gen_ai.operation.name', 'gen_ai.provider.name', 'mcp.method.name', 'http.request.method'].flatMap(
        name => (attributes[name] === undefined ? [] : valueName(name, attributes[name]))
      )
    )
    const labelled = families.flatMap(({ samples }) =>
      samples.flatMap(({ labels }) => {
        const type = labels['gen_ai.token.type']
        return type === undefined ? [] : valueName('gen_ai.token.type', type)
      })
    )
    t.ok(used.length > 0 && labelled.length > 0)
    t.same([...new Set([...used, ...labelled])].filter(value => !registry.values.has(value)), [])
  })

  t.test('has metrics with current names, or our own', async t => {
    const dotted = families.filter(({ name }) => name.includes('.'))
    t.equal(dotted.length, 3)
    t.same(dotted.map(({ name }) => name).filter(name => !registry.metrics.has(name)), [])
    t.ok(dotted.every(({ samples }) => samples.length > 0))
    const labels = dotted.flatMap(({ samples }) => samples.flatMap(({ labels }) => Object.keys(labels)))
    t.same(unknownNames(labels), [])
    // what every client for Prometheus reports of its process has these names
    const others = families.filter(({ name }) => !/^(headgate|process|nodejs)_[a-z0-9_]+$/.test(name))
    t.same(others, dotted)
  })

  t.test('has log fields that no convention names', async t => {
    const records = lines.map(line => logRecordOf(JSON.stringify(line)))
    t.ok(records.some(({ body }) => body === 'call'))
    const names = records.flatMap(({ attributes }) => Object.keys(attributes))
    t.same(unknownNames(names.filter(name => name.includes('.'))), [])
  })
})

/** Returns a value of an attribute in the format of the registry. */
function valueName (name: string, value: unknown): string {
  return `${name.toUpperCase().replaceAll('.', '_')}: ${String(value)}`
}

/** Provider kinds without a name in the conventions. */
const unnamedKinds: readonly ProviderKind[] = [
  'fireworks',
  'openai-compatible',
  'ollama',
  'vllm',
  'sglang',
  'llama.cpp',
  'lm-studio',
  'openrouter',
  'together',
  'sandbox',
  'local'
]

t.test('providers have the names of the conventions where there is one', async t => {
  const isNamed = (kind: ProviderKind): boolean =>
    registry.values.has(valueName('gen_ai.provider.name', providerNameOf('mine', () => kind)))
  t.same(providerKinds.filter(kind => !isNamed(kind)), unnamedKinds)
})

t.test('names that the conventions have replaced are not used', async t => {
  t.ok(registry.attributes.has('gen_ai.provider.name'), 'moved, and unchanged')
  const replaced = ['gen_ai.system', 'gen_ai.usage.prompt_tokens', 'http.method', ...Object.keys(renamed)]
  for (const name of replaced) t.same(unknownNames([name]), [name])
})
