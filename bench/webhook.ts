/**
 * Measures how much later an answer comes where a service looks at the request first: `npm run
 * bench:webhook`.
 *
 * The service answers after a millisecond, as it measures it; what is more is added by the gateway, the
 * sockets and the event loop that both share here.
 */

import { createServer } from 'node:http'
import { once } from 'node:events'
import { equal } from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { ConfiguredStages } from '../lib/guards/configured-stages.ts'
import { openWebhook } from '../lib/judges/webhook.ts'
import { completeAnswer, completeText } from '../lib/load/answers.ts'
import { chat } from '../pipelines/chat.ts'
import { callOf } from './stages.bench.ts'
import { servicesTo, textOf } from './support/services.ts'
import { median } from './support/statistics.ts'
import type { Services } from '../lib/services.ts'

const calls = 500
const serviceMs = 1

const took: number[] = []
const service = createServer((request, response) => {
  const began = performance.now()
  request.resume().on('end', () => setTimeout(() => {
    response.setHeader('content-type', 'application/json')
    response.end('{}')
    took.push(performance.now() - began)
  }, serviceMs))
})
service.listen(0, '127.0.0.1')
await once(service, 'listening')
const { port } = service.address() as AddressInfo // listening on TCP

const stage = { name: 'dlp', use: 'webhook', url: `http://127.0.0.1:${port}/`, at: ['request' as const] }
const judge = openWebhook(stage)
const textStages = new ConfiguredStages([stage], {
  judges: new Map([['dlp', judge]]),
  onUnavailable: (_stage, _call, cause) => {
    throw cause
  }
})

async function latencies (more: Partial<Services>): Promise<number[]> {
  const handle = chat({ ...servicesTo([Buffer.from(completeAnswer)]), ...more })
  const all: number[] = []
  for (let call = 0; call < calls; call++) {
    const began = performance.now()
    const text = await textOf(await handle(callOf('1 KB')))
    all.push(performance.now() - began)
    equal(text.includes(completeText), true)
  }
  return all.slice(calls / 5)
}

try {
  const without = median(await latencies({}))
  const looked = median(await latencies({ textStages }))
  const own = median(took)
  console.log(
    `median of ${calls} calls, one after the other, ms: ${without.toFixed(2)} without, ${looked.toFixed(2)} with a webhook that takes ${own.toFixed(2)}: ${(looked - without).toFixed(2)} more, ${(looked - without - own).toFixed(2)} beyond its own time`
  )
} finally {
  await judge.close?.()
  service.close()
}
