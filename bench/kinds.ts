/**
 * Measures by how much a guard of each kind delays the answer when it checks the request first: `npm run
 * bench:kinds -- [--calls 400]`.
 *
 * By their own clock, services and models answer after a millisecond; the rest is added by the gateway, the
 * sockets and the event loop that all of them share here.
 */

import { createServer } from 'node:http'
import { once } from 'node:events'
import { equal } from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import type { AddressInfo } from 'node:net'
import { configuredGuards } from '../lib/guards/configured-guards.ts'
import { openJudges } from '../lib/judges/open-judges.ts'
import { httpTransport } from '../lib/client/transport.ts'
import { closeJudges } from '../lib/guards/text-judge.ts'
import { completeAnswer, completeText } from '../lib/load/answers.ts'
import { createProvider } from '../lib/providers/index.ts'
import { chat } from '../pipelines/chat.ts'
import { callOf } from './stages.bench.ts'
import { scratchFolder } from './support/scratch-folder.ts'
import { servicesTo, textOf } from './support/services.ts'
import { median } from './support/statistics.ts'
import type { GuardSettings } from '../lib/core/settings.ts'
import type { Services } from '../lib/services.ts'
import type { GuardKind } from '../schemas/config/guards.ts'

const { values: flags } = parseArgs({ options: { calls: { type: 'string', default: '400' } } })
const calls = Number(flags.calls)
const serviceMs = 1

let took: number[] = []
let asked = 0

/** The answer of a service, or of a provider's API, when it finds nothing. */
function verdictOn (path: string, text: string): unknown {
  if (path.endsWith('/analyze')) return []
  if (path.endsWith('/moderations')) {
    const { input } = JSON.parse(text) as { readonly input: readonly string[] }
    const results = input.map(() => ({ flagged: false, categories: {}, category_scores: {} }))
    return { id: 'm', model: 'm', results }
  }
  if (path.endsWith('/chat/completions')) {
    const [, passes = ''] = /else with the word ([\da-f]+)/.exec(text) ?? []
    const choice = { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: passes } }
    return { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [choice] }
  }
  return {}
}

const service = createServer((request, response) => {
  void (async () => {
    const text = (await buffer(request)).toString()
    const began = performance.now()
    setTimeout(() => {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(verdictOn(request.url ?? '', text)))
      took.push(performance.now() - began)
      asked++
    }, serviceMs)
  })()
})
service.listen(0, '127.0.0.1')
await once(service, 'listening')
const { port } = service.address() as AddressInfo // listening on TCP
const url = `http://127.0.0.1:${port}`

const ownModule = join(scratchFolder('stage'), 'own.mjs')
writeFileSync(ownModule, 'export default { request: async texts => texts }\n')

const kinds: Readonly<Record<GuardKind, Omit<GuardSettings, 'name' | 'at'>>> = {
  pattern: { use: 'pattern', patterns: ['card_number', 'iban', 'email'] },
  module: { use: ownModule },
  webhook: { use: 'webhook', url: `${url}/look` },
  presidio: { use: 'presidio', analyzerUrl: url, anonymizerUrl: url },
  moderation: { use: 'moderation', model: 'mock/m' },
  prompt_injection: { use: 'prompt_injection', model: 'mock/m' }
}

async function latencies (more: Partial<Services>): Promise<number[]> {
  const handle = chat({ ...servicesTo([Buffer.from(completeAnswer)]), ...more })
  const all: number[] = []
  for (let call = 0; call < calls; call++) {
    const began = performance.now()
    const text = await textOf(await handle(callOf('1 KB')))
    all.push(performance.now() - began)
    equal(text.includes(completeText), true)
  }
  return all.slice(calls / 4)
}

const transport = httpTransport({ baseUrl: `${url}/v1`, connectMs: 10_000 })

/** Requests of judges go to the service. */
const judging = servicesTo([])
const judgeServices: Services = {
  ...judging,
  providers: new Map(judging.settings.providers.map(entry => [entry.id, createProvider(entry, transport)]))
}

try {
  console.log(`Median of ${calls} calls one after the other, ms more than without a stage:`)
  for (const [kind, settings] of Object.entries(kinds)) {
    const stage = { ...settings, name: kind, at: ['request' as const] }
    const judges = await openJudges({ ...judging.settings, guards: [stage] }, {
      services: () => judgeServices,
      openWork: new Map()
    })
    const textGuards = configuredGuards([stage], {
      judges,
      onUnavailable: (_stage, _call, cause) => {
        throw cause
      }
    })
    const without = median(await latencies({}))
    took = []
    asked = 0
    const looked = median(await latencies({ textGuards }))
    const own = took.length === 0 ? 0 : median(took)
    const each = (asked / calls).toFixed(1)
    console.log(
      `${kind}: ${(looked - without).toFixed(2)}, ${each} requests a call of ${own.toFixed(2)} each, ` +
        `${(looked - without - own).toFixed(2)} beyond one`
    )
    await closeJudges(judges)
  }
} finally {
  await transport.close()
  service.close()
}
