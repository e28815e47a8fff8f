import t, { type Test } from 'tap'
import { startGateway } from '../../examples/own-provider.ts'
import { fakeUpstream, type FakeUpstream } from '../support/upstream.ts'

/** A gateway with a provider that answers with the prompt. */
async function parrotGateway (t: Test): Promise<{ url: string, requests: FakeUpstream['requests'] }> {
  const upstream = await fakeUpstream(({ json }) => {
    const { model, prompt } = json as { model: string, prompt: string }
    if (model === 'hoarse') return { status: 429, pieces: ['not today'] }
    return { pieces: [JSON.stringify({ text: prompt, tokens: { prompt: 3, completion: 4 } })] }
  })
  t.teardown(upstream.close)
  const { gateway, url } = await startGateway(
    { PORT: '0', HOST: '127.0.0.1', PARROT_URL: upstream.url },
    t.testdir()
  )
  t.teardown(gateway.close)
  return { url, requests: upstream.requests }
}

async function ask (url: string, body: object): Promise<Response> {
  return await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer secret', 'content-type': 'application/json' },
    body: JSON.stringify({ messages: 'Hello', ...body })
  })
}

t.test('a custom provider answers, streamed and complete', async t => {
  const { url, requests } = await parrotGateway(t)
  const answer = await ask(url, { model: 'parrot/polly' })
  t.equal(answer.status, 200)
  t.match(await answer.json(), {
    model: 'parrot/polly',
    choices: [{ message: { role: 'assistant', content: 'user: Hello' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 }
  })
  t.same(
    requests.map(({ path, json }) => [path, json]),
    [['/generate', { model: 'polly', prompt: 'user: Hello' }]]
  )
  t.match(
    await (await ask(url, { model: 'parrot/polly', stream: true })).text(),
    /"content":"user: Hello"[^]*data: \[DONE\]\n\n$/
  )
})

t.test('an error of a custom provider becomes an error of the gateway', async t => {
  const { url, requests } = await parrotGateway(t)
  const answer = await ask(url, { model: 'parrot/hoarse' })
  t.equal(answer.status, 429)
  t.match(await answer.json(), { error: { code: 'rate_limit_exceeded' } })
  t.ok(requests.length > 1, 'it was retried')
})
