/**
 * Runs what `examples/deployment/compose.yaml` describes without containers: its configuration, and nginx
 * with its file.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { request } from 'undici'
import { parse } from 'yaml'
import { chat, clusterKey, clusterOf } from '../support/cluster.ts'
import { freePort } from '../support/free-port.ts'
import { noNginx, startNginx } from '../support/nginx.ts'
import { noRedis, startRedis } from '../support/redis.ts'
import { noPostgres, postgresPlace } from '../support/stores.ts'
import { chatAnswer, chatFrames } from '../support/upstream.ts'
import { withResolvers } from '../support/with-resolvers.ts'

const example = parse(
  readFileSync(join(import.meta.dirname, '../../../examples/deployment/headgate.yaml'), 'utf8')
) as Record<string, object>

t.test(
  'two gateways behind nginx act as one',
  { skip: noPostgres || noRedis || noNginx, timeout: 60_000 },
  async t => {
    const redis = await startRedis(t)
    const rest = withResolvers<void>()
    t.teardown(() => {
      rest.resolve()
    })
    const frames = chatFrames(['one', ' two'])
    const second = frames.findIndex(frame => frame.includes('two'))
    const cluster = await clusterOf(t, {
      place: await postgresPlace(t),
      // There is no health-checking load balancer to wait for, and slow hardware must not make a gateway
      // count alone.
      config: {
        ...example,
        server: { ...example['server'], shutdown_delay_ms: 0 },
        coordination: { ...example['coordination'], timeout_ms: 10_000 },
        metrics: { port: 0 },
        keys: [{ name: 'few', key: 'env:FEW_KEY', limits: { requests_per_minute: 12 } }]
      },
      env: { REDIS_URL: redis.url, FEW_KEY: 'key-with-a-limit' },
      script: async seen =>
        !seen.text.includes('"stream":true')
          ? { pieces: [chatAnswer('x')] }
          : {
              headers: { 'content-type': 'text/event-stream' },
              pieces: (async function* () {
                yield frames.slice(0, second).join('')
                await rest.promise
                yield frames.slice(second).join('')
              })()
            }
    })
    const ports = [await freePort(), await freePort()] as const
    const nodes = await Promise.all(
      ports.map(async (port, number) => await cluster.start(`node-${number + 1}`, port))
    )
    const { url } = await startNginx(t, ports)

    const statuses = await Promise.all(
      Array.from(
        { length: 40 },
        async (_, number) => (await chat(url, `few-${number}`, { key: 'key-with-a-limit' })).status
      )
    )
    t.equal(statuses.filter(status => status === 200).length, 12, 'a limit applies to both together')
    t.equal(statuses.filter(status => status === 429).length, 28)

    const { body } = await request(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${clusterKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'openai/gpt-5', messages: 'hi', stream: true })
    })
    let text = ''
    for await (const piece of body) {
      text += String(piece)
      if (text.includes('one')) rest.resolve() // the provider continues once the first event has arrived
    }
    t.match(text, /one[^]* two[^]*\[DONE\]/)

    for (const node of nodes) {
      const [, metrics = ''] = await node.line(/"url":"([^"]+)","msg":"metrics server listening"/)
      const answer = await request(metrics)
      t.match(await answer.body.text(), /headgate_calls_total\{.*\} [1-9]/, 'both have served calls')
      node.child.kill('SIGTERM')
      t.equal((await node.ended).code, 0)
    }
  }
)
