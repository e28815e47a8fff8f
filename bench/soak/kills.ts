import { completeAnswer } from '../../lib/load/answers.ts'
import { fakeProvider, sendJson } from './provider.ts'
import { eventually, finding, seeded, type Scenario } from './scenario.ts'
import { providerAt, startWorld } from './world.ts'

/** Repeatedly kills the process under load: a call whose caller has the answer has its row. */
export const kills: Scenario = {
  name: 'kill -9',
  run: async short => {
    const rounds = short ? 4 : 25
    const provider = await fakeProvider((_, response) => sendJson(response, completeAnswer))
    let world = await startWorld({ configuration: { providers: { fake: providerAt(provider.port) } } })
    const random = seeded(2)
    const succeeded = new Set<string>()
    try {
      // After a random number of answers, so that a slow machine has some too.
      for (let round = 0; round < rounds; round++) {
        const { post } = world
        const killed = new AbortController()
        const caller = async (name: number): Promise<void> => {
          for (let number = 0; !killed.signal.aborted; number++) {
            const id = `soak-${round}-${name}-${number}`
            try {
              const { status } = await post(
                '/v1/chat/completions',
                { model: 'fake/m', messages: 'x' },
                { headers: { 'x-request-id': id } }
              )
              if (status === 200) succeeded.add(id)
            } catch {
              return // The process is gone: this call has no answer.
            }
          }
        }
        const callers = Promise.all(Array.from({ length: 8 }, async (_, name) => await caller(name)))
        const enough = succeeded.size + 20 + Math.floor(random() * 400)
        await eventually(() => succeeded.size >= enough, 20_000)
        await world.kill()
        killed.abort()
        await callers
        world = await world.restart()
      }
      // Interrupted calls have rows too, so the number of rows does not show whether all are written.
      const withoutRow = (): string[] => {
        const known = new Set(world.ledgerIds())
        return [...succeeded].filter(id => !known.has(id))
      }
      await eventually(() => withoutRow().length === 0)
      const missing = withoutRow().length
      const found = world.ledgerIds()
      return [
        finding(
          'no completed call lacks its row',
          succeeded.size > rounds && missing === 0,
          `${rounds} kills, ${succeeded.size} completed, ${missing} without a row`
        ),
        finding(
          'no call has two rows',
          new Set(found).size === found.length,
          `${found.length - new Set(found).size} double rows`
        )
      ]
    } finally {
      await world.stop()
      provider.close()
    }
  }
}
