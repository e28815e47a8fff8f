import t from 'tap'
import {
  simulatedModels,
  nanoUsdPerCall,
  simulatedPrice,
  simulatedUsage,
  startSimulatedProvider,
  waitMs
} from '../../lib/load/simulated-provider.ts'
import { completeText, texts } from '../../lib/load/answers.ts'

t.test(
  'the provider answers each of its models, counts only those answers, and reports their usage',
  async t => {
    const provider = await startSimulatedProvider({ host: '127.0.0.1', port: 0 })
    t.teardown(async () => {
      await provider.close()
    })
    const ask = async (
      model: string
    ): Promise<{ readonly status: number, readonly text: string, readonly ms: number }> => {
      const startMs = performance.now()
      const response = await fetch(`http://127.0.0.1:${provider.port}/v1/chat/completions`, {
        method: 'POST',
        body: JSON.stringify({ model })
      })
      return { status: response.status, text: await response.text(), ms: performance.now() - startMs }
    }
    for (const model of simulatedModels) {
      const { status, text, ms } = await ask(model)
      t.equal(status, 200)
      t.match(
        text,
        '"prompt_tokens":220,"prompt_tokens_details":{"cached_tokens":100},"completion_tokens":200'
      )
      if (model.startsWith('wait')) t.ok(ms >= waitMs - 5, `${ms} ms`)
      if (model === 'json') t.equal(JSON.parse(text).choices[0].message.content, completeText)
      if (model === 'eights') t.match(text, JSON.stringify(texts[0]).slice(1, -1))
    }
    t.equal(provider.calls(), simulatedModels.length)
    t.equal((await ask('other')).status, 404)
    t.equal((await fetch(`http://127.0.0.1:${provider.port}/v1/models`)).status, 404)
    t.equal(provider.calls(), simulatedModels.length)
    t.same(
      [
        simulatedPrice.input,
        simulatedPrice.cached_input,
        simulatedPrice.output,
        simulatedUsage.prompt_tokens
      ],
      [2, 0.5, 8, 220]
    )
    t.equal(nanoUsdPerCall, (120 * 2 + 100 * 0.5 + 200 * 8) * 1_000)
  }
)

t.test('a port in use is an error', async t => {
  const provider = await startSimulatedProvider({ host: '127.0.0.1', port: 0 })
  t.teardown(async () => { await provider.close() })
  await t.rejects(startSimulatedProvider({ host: '127.0.0.1', port: provider.port }), /EADDRINUSE/)
})
