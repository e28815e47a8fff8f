import t from 'tap'
import { startGateway } from '../../examples/own-endpoint.ts'

t.test('a custom endpoint works, complete and streamed, next to all others', async t => {
  const { gateway, url } = await startGateway({ PORT: '0', HOST: '127.0.0.1' }, t.testdir())
  t.teardown(async () => await gateway.close())
  const post = async (path: string, body: object, key = 'secret'): Promise<Response> =>
    await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sandbox/echo', messages: 'Is anyone there?', ...body })
    })
  const complete = await post('/v1/ask', {})
  t.equal(complete.status, 200)
  t.match(await complete.json(), {
    choices: [{ message: { content: /Is anyone there\?/ } }],
    usage: { total_tokens: Number }
  })
  t.match(await (await post('/v1/ask', { stream: true })).text(), /^data: .*\n\ndata: \[DONE\]\n\n$/s)
  t.equal((await post('/v1/ask', {}, 'wrong')).status, 401)
  t.equal((await post('/v1/ask', { messages: 7 })).status, 422)
  t.equal((await post('/v1/chat/completions', {})).status, 200)
})

t.test('the guards of the configuration inspect it', async t => {
  const cwd = t.testdir({
    'headgate.yaml': 'stages:\n  - { name: mail, use: pattern, at: [request], patterns: [email], action: mask }\n'
  })
  const { gateway, url } = await startGateway({ PORT: '0', HOST: '127.0.0.1' }, cwd)
  t.teardown(async () => await gateway.close())
  const response = await fetch(`${url}/v1/ask`, {
    method: 'POST',
    headers: { authorization: 'Bearer secret', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sandbox/echo', messages: 'Is a@example.com there?' })
  })
  t.match(await response.json(), { choices: [{ message: { content: /Is \[email\] there\?/ } }] })
})
