/**
 * Measures the cost of a sampled call's spans after its end: from its record to the answer of an in-process
 * collector. Batches are as large as under load.
 */

import { equal } from 'node:assert/strict'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { CallRecord } from '../lib/core/record.ts'
import { completeAnswer } from '../lib/load/answers.ts'
import { openCallTracer, type CallTracer } from '../lib/telemetry/call-tracer.ts'
import { createLog } from '../lib/log/log.ts'
import type { Call } from '../lib/core/call.ts'
import type { OtlpSettings } from '../lib/core/settings.ts'
import type { Scenario } from './support/scenario.ts'

const batchCalls = 256
const spansOfCall = 2

const collector = createServer((request, response) => {
  request.resume()
  request.on('end', () => {
    response.setHeader('content-type', 'application/x-protobuf').end()
    collector.emit('batch')
  })
})
collector.listen(0, '127.0.0.1').unref()
await once(collector, 'listening')
collector.on('connection', socket => socket.unref())
const { port } = collector.address() as AddressInfo // it is listening

const { signal } = new AbortController()
const key = { id: 'key_0123456789abcdef', name: 'bench' }
const route = { providerId: 'mock', model: 'json', modelId: 'mock/json' }
const request = Buffer.from(JSON.stringify({
  model: 'mock/json', messages: [{ role: 'user', content: 'word '.repeat(200) }]
}))

function tracerWith (parts: Partial<OtlpSettings>): CallTracer {
  return openCallTracer(
    {
      endpoint: `http://127.0.0.1:${port}`,
      protocol: 'http/protobuf',
      headers: {},
      sampler: 'parentbased_traceidratio',
      sample: 1,
      traces: true,
      metrics: false,
      logs: false,
      metricsIntervalMs: 60_000,
      openinference: false,
      maxQueuedSpans: 2048,
      maxQueuedLogs: 2048,
      ...parts
    },
    { log: createLog('silent', { write: () => undefined }), maxSampledPerSecond: 1e6 }
  )
}

/** Returns a call of the JSON lane that has ended. */
function endedCall (tracer: CallTracer): Call {
  const record = new CallRecord('chat')
  const startedAtMs = performance.now()
  const trace = tracer.begin({})
  record.trace = trace
  record.caller.keyId = key.id
  record.caller.keyName = key.name
  record.request.method = 'POST'
  record.request.path = '/v1/chat/completions'
  record.request.requestedModel = route.modelId
  record.routing.modelId = route.modelId
  record.routing.providerId = route.providerId
  record.routing.chosen = route
  record.routing.attempts = [
    {
      route,
      startedAtMs,
      outcomeAtMs: startedAtMs + 1,
      endedAtMs: startedAtMs + 1,
      reason: undefined,
      status: undefined,
      span: trace.child()
    }
  ]
  record.end.status = 200
  record.end.outcome = 'ok'
  record.request.isStreamed = false
  record.routing.requestCount = 1
  record.usage.total = { promptTokens: 250, completionTokens: 200, totalTokens: 450 }
  record.usage.answers = [{ earlier: undefined, usage: record.usage.total }]
  record.bodies = tracer.captureContent?.([], undefined)?.(key, 'chat', trace)
  record.bodies?.takeRequest([request])
  record.bodies?.watch({
    status: 200, headers: { 'content-type': 'application/json' }, body: completeAnswer
  })
  return {
    id: '00000000-0000-4000-8000-000000000000',
    headers: {},
    params: {},
    body: async () => await Promise.resolve({}),
    signal,
    receivedAtMs: startedAtMs,
    record
  }
}

function scenario (name: string, parts: Partial<OtlpSettings>): Scenario {
  const tracer = tracerWith(parts)
  return {
    name: `spans: ${name}`,
    per: 'call',
    count: batchCalls,
    run: async () => {
      const sent = once(collector, 'batch')
      for (let index = 0; index < batchCalls; index++) {
        tracer.observe(endedCall(tracer), undefined, () => 'openai')
      }
      await sent
      return tracer.dropped
    },
    check: dropped => equal(dropped, 0, `a queue of ${batchCalls * spansOfCall} spans has room`)
  }
}

const content = { projects: ['*'], maxBytes: 16_384, redact: { fields: [], patterns: [] } }

export const scenarios: readonly Scenario[] = [
  scenario('alone', {}),
  scenario('and OpenInference', { openinference: true }),
  scenario('and OpenInference, prompts and answers', { openinference: true, content })
]
