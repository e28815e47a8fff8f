import { lastFrames, textFrame } from '../../lib/load/answers.ts'
import { askInside } from './inside.ts'
import { fakeProvider } from './provider.ts'
import { each, eventually, finding, seeded, type Scenario } from './scenario.ts'
import { providerAt, startWorld } from './world.ts'

const first = textFrame('word ').repeat(4)
const path = '/v1/chat/completions'

/** One of ten callers disconnects at a random moment: nothing of any stream may remain. */
export const streams: Scenario = {
  name: 'many streams',
  run: async short => {
    const [calls, warmUp] = short ? [6000, 2000] : [100_000, 10_000]
    const width = 50
    const open = new Set<unknown>()
    const provider = await fakeProvider((_, response) => {
      open.add(response)
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(first)
      const timer = setTimeout(() => response.end(first + lastFrames), 5)
      response.on('close', () => {
        clearTimeout(timer)
        open.delete(response)
      })
    })
    const timers = askInside<number>('active-timers.js')
    const world = await startWorld({
      ...timers.options,
      configuration: { providers: { fake: providerAt(provider.port, 'openai', { on_disconnect: 'abort' }) } }
    })
    const random = seeded(2)
    let left = 0
    const stream = async (): Promise<void> => {
      const leaving = new AbortController()
      const timer = random() < 0.1 && setTimeout(() => leaving.abort(), random() * 15)
      try {
        const { text } = await world.post(
          path,
          { model: 'fake/m', messages: 'Hello', stream: true },
          { signal: leaving.signal }
        )
        if (!text.endsWith('data: [DONE]\n\n')) throw new Error(`a stream ended early: ${text.slice(-200)}`)
      } catch (error) {
        if (!leaving.signal.aborted) throw error
        left++
      } finally {
        if (timer !== false) clearTimeout(timer)
      }
    }
    const settled = async (): Promise<boolean> =>
      await eventually(async () => open.size === 0 && (await world.metric('headgate_open_calls')) === 0)
    try {
      await each(warmUp, width, stream)
      await settled()
      const [timersBefore, fdsBefore] = [await timers.ask(world), world.descriptors()]
      const megabytes = [world.rssMb()]
      for (let part = 0; part < 9; part++) {
        await each((calls - warmUp) / 9, width, stream)
        megabytes.push(world.rssMb())
      }
      const ended = await settled()
      const accepted = await world.metric('headgate_calls_total', 'endpoint="chat"')
      const rows = await eventually(() => world.ledgerIds().length === accepted)
      // Idle connections, and their timers, come and go.
      const released = await eventually(
        async () =>
          world.descriptors() <= fdsBefore + width && (await timers.ask(world)) <= timersBefore + 2 * width
      )
      const [base = NaN, ...later] = megabytes
      return [
        finding(
          'no stream stays open',
          ended,
          `${left} of ${calls} callers left; ${open.size} open afterwards`
        ),
        finding(
          'every call has a row in the usage ledger',
          rows,
          `${world.ledgerIds().length} rows of ${accepted} calls`
        ),
        finding(
          'no socket and no timer stays',
          released,
          `${world.descriptors() - fdsBefore} descriptors and ${(await timers.ask(world)) - timersBefore} timers more than after ${warmUp} calls`
        ),
        finding(
          'memory does not grow',
          Math.min(...later.slice(-3)) <= base * (short ? 1.5 : 1.15),
          `${base} MB after ${warmUp} calls, then ${later.join(', ')}`
        )
      ]
    } finally {
      timers.stop()
      await world.stop()
      provider.close()
    }
  }
}
