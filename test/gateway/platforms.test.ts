/**
 * Checks spans of every kind of call against what Langfuse and Datadog document about the spans that they
 * accept.
 */

import t, { type Test } from 'tap'
import { Secret } from '../../lib/core/secret.ts'
import { collector, type SeenSpan } from '../support/collector.ts'
import { testGateway, upstreamAt } from '../support/gateway.ts'
import { modelSettings, otlpSettings, settings } from '../support/settings.ts'
import { startToolServer } from '../support/tool-server.ts'
import { remoteServer } from '../support/tool-servers.ts'
import {
  chatAnswer, fakeUpstream, toolCallAnswer, type Script, type SeenRequest
} from '../support/upstream.ts'
import type { SeenRequest as SentRequest } from '../support/upstream.ts'

const usage = {
  prompt_tokens: 9,
  completion_tokens: 4,
  total_tokens: 13,
  prompt_tokens_details: { cached_tokens: 5 }
}
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

const names = { user: 'ann', metadata: { run: '7' } }
const headers = { 'x-session-id': 'session-1', 'x-headgate-tags': 'search,beta' }

/** Returns the spans of a chat, of a loop of tools and of embeddings, and the requests that brought them. */
async function spansOfCalls (t: Test, base = ''): Promise<{ spans: SeenSpan[], requests: SentRequest[] }> {
  const [seen, tools] = [await collector(t), await startToolServer(t)]
  const script = ({ path, json }: SeenRequest): Script => {
    if (path.endsWith('/embeddings')) return embedding
    // written by the gateway
    const { messages, tools: offered } = json as { messages: Array<{ role: string }>, tools?: unknown }
    const callsTool = offered !== undefined && messages.at(-1)?.role === 'user'
    return { pieces: [callsTool ? toolCallAnswer('echo', {}, usage) : chatAnswer('Hello', usage)] }
  }
  const upstream = await fakeUpstream(script)
  t.teardown(upstream.close)
  const api = await testGateway(t, {
    providers: [upstreamAt(`${upstream.url}/v1`, 'one', 'groq')],
    models: [modelSettings('one/m', { price: { input: 1, output: 10 } })],
    tools: {
      ...settings().tools,
      connectMs: 10_000,
      callMs: 10_000,
      loopMs: 20_000,
      allowedHosts: ['127.0.0.1']
    },
    toolServers: [remoteServer('org/test', tools.url)],
    telemetry: {
      maxSampledPerSecond: 1,
      otlp: otlpSettings(`${seen.url}${base}`, {
        openinference: true,
        content: { projects: ['*'], maxBytes: 8192, redact: { fields: [], patterns: [] } },
        headers: { Authorization: new Secret('Basic cGs6c2s=') }
      })
    }
  })
  const chat = { model: 'one/m', messages: [{ role: 'user', content: 'Hi' }], ...names }
  for (const [path, body] of [
    ['/v1/chat/completions', chat],
    ['/v1/chat/completions', { ...chat, mcp_servers: ['org/test'] }],
    ['/v1/embeddings', { model: 'one/e', input: 'Hi' }]
  ] as const) {
    const response = await api.post(path, body, { headers })
    t.equal(response.status, 200, await response.text())
  }
  await api.gateway.close()
  return { spans: seen.spans(), requests: seen.requests }
}

/**
 * Returns the type that Langfuse gives an observation: by the OpenInference kind, else the operation, else a
 * model.
 */
function langfuseType ({ attributes }: SeenSpan): string {
  const kinds: Readonly<Record<string, string>> = {
    LLM: 'GENERATION',
    EMBEDDING: 'EMBEDDING',
    TOOL: 'TOOL',
    CHAIN: 'CHAIN',
    GUARDRAIL: 'GUARDRAIL'
  }
  const operations: Readonly<Record<string, string>> = {
    chat: 'GENERATION',
    text_completion: 'GENERATION',
    embeddings: 'EMBEDDING',
    execute_tool: 'TOOL'
  }
  const byOperation =
    operations[String(attributes['gen_ai.operation.name'])] ??
    (attributes['gen_ai.tool.name'] !== undefined
      ? 'TOOL'
      : attributes['gen_ai.request.model'] !== undefined
        ? 'GENERATION'
        : 'CHAIN')
  const byKind = kinds[String(attributes['openinference.span.kind'])]
  return byKind === byOperation ? byOperation : `${byKind} or ${byOperation}`
}

t.test('Langfuse', async t => {
  const { spans, requests } = await spansOfCalls(t, '/api/public/otel')
  const top = spans.find(({ kind }) => kind === 2)

  t.test('gets traces over HTTP below its base URL, with its keys as a password', async t => {
    t.ok(requests.length > 0)
    for (const { path, headers } of requests) {
      t.match(
        { path, headers },
        { path: '/api/public/otel/v1/traces', headers: { authorization: 'Basic cGs6c2s=' } }
      )
    }
  })

  t.test('finds user, session and tags of a trace on its first span', async t => {
    t.match(top?.attributes, {
      'user.id': 'ann',
      'session.id': 'session-1',
      'tag.tags': ['search', 'beta'],
      metadata: '{"run":"7"}'
    })
  })

  t.test(
    'shows each attempt as a generation, tool calls as tools, and the call itself as neither',
    async t => {
      const types = spans.map(span => `${span.name}: ${langfuseType(span)}`)
      t.same([...new Set(types)].toSorted(), [
        'POST /v1/chat/completions: CHAIN',
        'POST /v1/embeddings: CHAIN',
        'chat m: GENERATION',
        'embeddings e: EMBEDDING',
        'tools/call echo: TOOL',
        'tools/list: CHAIN'
      ])
    }
  )

  t.test('finds usage, cost, prompt and answer of a generation', async t => {
    const generation = spans.find(
      ({ name, parentSpanId }) => name === 'chat m' && parentSpanId === top?.spanId
    )
    t.match(generation?.attributes, {
      'gen_ai.request.model': 'm',
      'gen_ai.usage.input_tokens': 9,
      'gen_ai.usage.output_tokens': 4,
      'gen_ai.usage.cost': Number
    })
    t.match(JSON.parse(String(generation?.attributes['gen_ai.input.messages'])), [
      { role: 'user', parts: [{ type: 'text', content: 'Hi' }] }
    ])
    t.match(JSON.parse(String(generation?.attributes['gen_ai.output.messages'])), [
      { role: 'assistant', parts: [{ type: 'text', content: 'Hello' }], finish_reason: 'stop' }
    ])
  })
})

t.test(
  'Datadog shows LLM spans: all that have a model name their operation and provider, and so do tool calls',
  async t => {
    const { spans } = await spansOfCalls(t)
    const ofModels = spans.filter(({ attributes }) => attributes['gen_ai.request.model'] !== undefined)
    t.ok(ofModels.length >= 4)
    for (const { name, kind, attributes } of ofModels) {
      t.match(
        attributes,
        { 'gen_ai.operation.name': /^(chat|embeddings)$/, 'gen_ai.provider.name': 'groq' },
        name
      )
      t.equal(kind, 3, 'a client')
    }
    for (const { attributes } of spans.filter(({ name }) => name.startsWith('tools/call'))) {
      t.match(attributes, { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'echo' })
    }
    t.ok(
      spans.every(({ parentSpanId, kind }) => kind === 2 || parentSpanId !== undefined),
      'each is in the trace of its call'
    )
  }
)
