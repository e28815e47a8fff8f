import { completeAnswer } from '../../lib/load/answers.ts'
import { fakeProvider, sendJson } from './provider.ts'
import { each, finding, seeded, type Scenario } from './scenario.ts'
import { providerAt, startWorld } from './world.ts'

/** Two providers that succeed in 70 of 100 requests, through a list of both; then both fail, and recover. */
export const unreliableProviders: Scenario = {
  name: 'two providers at 70 %',
  run: async short => {
    const calls = short ? 1000 : 5000
    // Enough calls to make the retries earned before the failure a small part.
    const more = 2000
    const random = seeded(3)
    let rate = 0.7
    const provider = async () => await fakeProvider((_, response) => {
      if (random() < rate) sendJson(response, completeAnswer)
      else sendJson(response, '{"error":{"message":"down"}}', 500)
    })
    const [one, two] = [await provider(), await provider()]
    const world = await startWorld({
      configuration: { providers: { one: providerAt(one.port), two: providerAt(two.port) } }
    })
    const requests = (): number => one.requests() + two.requests()
    const ask = async (count: number): Promise<{ good: number, perCall: number }> => {
      let good = 0
      const before = requests()
      await each(count, 16, async () => {
        const { status } = await world.post('/v1/chat/completions', {
          model: ['one/m', 'two/m'],
          messages: 'x'
        })
        if (status === 200) good++
      })
      return { good, perCall: (requests() - before) / count }
    }
    try {
      const shaky = await ask(calls)
      rate = 0
      const down = await ask(more)
      rate = 1
      const healthy = await ask(more)
      const share = shaky.good / calls
      return [
        finding(
          '99.9 % of calls succeed through a list',
          share >= 0.999,
          `${(share * 100).toFixed(2)} % of ${calls}, ${shaky.perCall.toFixed(2)} requests per call`
        ),
        finding(
          'all down costs at most 1.2 requests per call',
          down.perCall <= 1.2,
          `${down.perCall.toFixed(2)} requests per call`
        ),
        finding(
          'calls succeed once providers have recovered',
          healthy.good === more,
          `${healthy.good} of ${more}`
        )
      ]
    } finally {
      await world.stop()
      one.close()
      two.close()
    }
  }
}
