/**
 * Runs a gateway with a part left out: `node ablated.js <part> <port> <upstream port> <data directory>`. It
 * is assembled here from the same services; the gateway itself has no such switches.
 */

import '../../lib/process/v8-flag.ts'
import { Type } from 'typebox'
import { loadSettings } from '../../lib/config/read-settings.ts'
import { checkChatRules } from '../../lib/chat/rules.ts'
import { map, type Sink } from '../../lib/pipeline/stage.ts'
import { chatCompletions } from '../../lib/dialects/chat-completions/index.ts'
import { createGateway, type Gateway } from '../../lib/gateway.ts'
import { openKeyStore } from '../../lib/keys/key-store.ts'
import { estimateChat } from '../../lib/limits/estimate-chat.ts'
import { auth } from '../../lib/stages/auth.ts'
import { limits } from '../../lib/stages/limits.ts'
import { routeModel } from '../../lib/stages/route-model.ts'
import { validate } from '../../lib/stages/validate.ts'
import { openDatabase } from '../../lib/stores/open-database.ts'
import { createLog } from '../../lib/log/log.ts'
import { Metrics } from '../../lib/telemetry/metrics.ts'
import { chat } from '../../pipelines/chat.ts'
import { conversation } from '../../pipelines/conversation.ts'
import { createEndpoints } from '../../pipelines/index.ts'
import { pipeline, type Handler } from '../../pipelines/pipeline.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { Call, RoutedCall } from '../../lib/core/call.ts'
import type { Reply } from '../../lib/core/reply.ts'
import type { Services } from '../../lib/services.ts'
import type { Part } from '../ablate.ts'
import { benchKey, benchLimits, benchPrices } from './settings.ts'

const [name = '', port, upstreamPort, dataDir = ''] = process.argv.slice(2)
const without = name as Part // as `ablate` starts it

const settings = loadSettings({
  env: { BENCH_KEY: benchKey, BENCH_UPSTREAM_KEY: 'sk-mock' },
  cwd: dataDir,
  config: {
    server: { port: Number(port), data_dir: dataDir },
    providers: {
      mock: {
        kind: 'openai',
        base_url: `http://127.0.0.1:${upstreamPort}/v1`,
        api_key: 'env:BENCH_UPSTREAM_KEY',
        list_models: false
      }
    },
    keys: [
      {
        name: 'bench',
        key: 'env:BENCH_KEY',
        ...without !== 'limits' && { limits: benchLimits }
      }
    ],
    models: benchPrices
  }
})

const database = await openDatabase(dataDir)
const keys = await openKeyStore(database, settings.keys)
const metrics = new Metrics(() => gateway)
const gateway: Gateway = await createGateway(settings, {
  keys,
  log: createLog(without === 'log' ? 'silent' : 'info'),
  database,
  ...without !== 'ledger' && { usageDatabase: await openDatabase(dataDir, { busyTimeoutMs: 0 }) },
  observers: without === 'metrics' ? [] : [metrics.observe],
  endpoints: services => createEndpoints(services).map(endpoint => (
    endpoint.path === '/v1/chat/completions' ? { ...endpoint, handle: chatOf(services) } : endpoint
  ))
})
await gateway.listen()
process.once('SIGTERM', () => process.exit(0))

function chatOf (services: Services): Handler<Call> {
  switch (without) {
    case 'validation': {
      const schema = Type.Object({}) as typeof chatCompletions.schema
      return conversation(services, { ...chatCompletions, schema }, validate(schema))
    }
    case 'translation':
      return passed(services)
    default:
      return chat(services)
  }
}

/**
 * Runs everything up to the provider, and passes its answer on byte for byte: no adapter, no events, and no
 * usage recorded.
 */
function passed (services: Services): Handler<Call> {
  return pipeline(
    auth(services),
    validate(chatCompletions.schema),
    map(chatCompletions.input),
    map(checkChatRules),
    routeModel(services),
    limits(services, { estimate: estimateChat }),
    bytesOf(services)
  )
}

function bytesOf ({ providers }: Services): Sink<RoutedCall<ChatInput>, Reply> {
  return async source => {
    for await (const call of source) {
      const [route] = call.routes
      const provider = providers.get(route.providerId)
      if (provider === undefined) break
      const { stream: streamed = false } = call.request
      const { status, headers, body } = await provider.transport.send({
        method: 'POST',
        path: '/chat/completions',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...call.request, model: route.model })
      }, { signal: call.signal, credential: provider.authorize(), timeouts: provider.timeouts, streamed })
      const type = String(headers['content-type'])
      return { status, headers: { 'content-type': type }, body: streamed ? body : await body.buffer(1e6) }
    }
    throw new Error('no call came')
  }
}
