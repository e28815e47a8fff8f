import { percentile } from '../../lib/load/percentile.ts'
import { maxStallMs } from './liveness.ts'
import { fakeProvider } from './provider.ts'
import { lastFrames, textFrame } from '../../lib/load/answers.ts'
import { each, eventually, finding, seeded, type Scenario } from './scenario.ts'
import { providerAt, startWorld } from './world.ts'

const frame = textFrame('word ')

/** Three of four callers disconnect midway through a stream: the provider's stream must end with them. */
export const disconnects: Scenario = {
  name: 'disconnects',
  run: async short => {
    const [calls, width] = short ? [400, 30] : [3000, 100]
    const leftAtMs = new Map<string, number>()
    const closedAfterMs: number[] = []
    let open = 0
    const provider = await fakeProvider((_, response, text) => {
      open++
      const number = /call-\d+/.exec(text)?.[0] ?? ''
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      let frames = 0
      // A stream that would go on for a minute: it ends because the gateway ends it.
      const most = text.includes('leaves') ? 6000 : 20
      const timer = setInterval(() => {
        if (frames++ < most) response.write(frame)
        else response.end(lastFrames)
      }, 10)
      response.on('close', () => {
        clearInterval(timer)
        open--
        const atMs = leftAtMs.get(number)
        if (atMs !== undefined && !response.writableFinished) closedAfterMs.push(performance.now() - atMs)
      })
    })
    const world = await startWorld({
      configuration: { providers: { fake: providerAt(provider.port, 'openai', { on_disconnect: 'abort' }) } }
    })
    try {
      await world.post('/v1/chat/completions', { model: 'fake/m', messages: 'warm up' })
      const random = seeded(1)
      const fdsBefore = world.descriptors()
      let left = 0
      await each(calls, width, async number => {
        const leaving = new AbortController()
        const leaves = random() < 0.75
        const timer = leaves && setTimeout(() => {
          left++
          leftAtMs.set(`call-${number}`, performance.now())
          leaving.abort()
        }, random() * 150)
        try {
          await world.post(
            '/v1/chat/completions',
            { model: 'fake/m', messages: `call-${number} ${leaves ? 'leaves' : 'stays'}`, stream: true },
            { signal: leaving.signal }
          )
        } catch (error) {
          if (!leaving.signal.aborted) throw error
        } finally {
          if (timer !== false) clearTimeout(timer)
        }
      })
      const quiet = await eventually(
        async () => open === 0 && (await world.metric('headgate_open_calls')) === 0
      )
      // Some disconnect before the gateway has their request: those are not calls.
      const accepted = await world.metric('headgate_calls_total', 'endpoint="chat"')
      const rows = await eventually(() => world.ledgerIds().length === accepted)
      const sorted = closedAfterMs.toSorted((a, b) => a - b)
      // Kept-alive connections: one per caller, and one per concurrent call at the provider.
      const fds = (): number => world.descriptors() - fdsBefore
      const released = await eventually(() => fds() < 2 * width + 20)
      return [
        finding(
          'every stream of a caller who left is closed at the provider',
          quiet,
          `${left} of ${calls} left; ${open} open afterwards`
        ),
        finding(
          '99 of 100 are closed within a second',
          percentile(sorted, 0.99) < maxStallMs(),
          `p50 ${percentile(sorted, 0.5).toFixed(1)} ms, p99 ${percentile(sorted, 0.99).toFixed(0)} ms`
        ),
        finding(
          'every call has a row in the usage ledger',
          rows,
          `${world.ledgerIds().length} rows of ${accepted} calls`
        ),
        finding(
          'no descriptor stays open',
          released,
          `${fds()} more than before, keep-alive connections included; ${world.rssMb()} MB`
        )
      ]
    } finally {
      await world.stop()
      provider.close()
    }
  }
}
